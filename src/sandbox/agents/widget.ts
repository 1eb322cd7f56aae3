// Section 2.12, "Chat and widget settings" and "Human handoff".
import type { Draw } from '../random.ts'

export function widget(draw: Draw) {
  return {
    proactiveMessage: draw.pick(['Hi 👋 how can we help?', 'Grüezi!', '']),
    acceptFileUpload: draw.chance(0.5),
    recordChatHistory: true,
    messageDelayMS: draw.int(0, 1_500),
    messageAggregationSeconds: draw.int(0, 10),
    delayBeforeSubmit: 0,
    chatEndMessage: 'This chat has ended. Thank you!',
    aiIntroductionMessage: 'I am an AI assistant.',
    enableAIIntroductionMessage: draw.chance(0.8),
    gdprCompliance: draw.chance(0.6),
    disableRating: false,
    disableFileUpload: false,
    buttonsLayout: 'horizontal',
    bubbleStyle: 'rounded',
    privacyDisclaimer: {
      enabled: true,
      text: 'By chatting you accept our <a href="https://example.com/privacy">privacy notice</a>.',
    },
    ui: { primaryColor: `#${draw.hex(6)}`, position: 'bottom-right', zIndex: 2_147_483_647 },
    tabs: ['chat', 'faq'],
    buttonColor: `#${draw.hex(6)}`,
    buttonTextColor: '#ffffff',
    inputPlaceholder: 'Type a message…',
    inputBackgroundColor: '#f7f7f8',
    disableHumanHandoff: false,
    alwaysShowHandoff: draw.chance(0.2),
    manualControl: false,
    UIhandoffTitle: 'Talk to a person',
    UIhandoffSubtitle: 'Usually within 5 minutes',
    showHandoffEvenIfOffline: draw.chance(0.3),
    persistHandoffOnRefresh: true,
    blockInputDuringHandoffRequest: false,
  }
}
