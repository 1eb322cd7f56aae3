// Resources of a workspace: voices, the workspace itself, organizations, teams and pages of the web crawler (sections 2.5 to 2.9).
import type { Optional, Unlisted } from './record.ts'

/** A text-to-speech voice (section 2.5). `previewUrl` is the address of an MP3. */
export type Voice = { readonly voiceId: string; readonly provider: string } & Optional<
  'name' | 'previewUrl',
  string
> & {
    readonly filters?: Optional<'accent' | 'gender' | 'useCase' | 'language', string> & Unlisted
  } & Unlisted

/** A workspace, as its update returns it (section 2.6). */
export type Workspace = { readonly uid: string } & Optional<
  'email' | 'displayName' | 'workspaceName' | 'photoURL' | 'region',
  string
> &
  Optional<'workspaceEmails', readonly string[]> &
  Optional<'hasEverPaid', boolean> &
  Unlisted

/** Changes of a workspace (section 4.6): only the given fields. `marketplaceProfile.username` must be unique. */
export interface WorkspaceChanges {
  readonly workspaceName?: string
  readonly workspaceEmails?: readonly string[]
  readonly automaticBilling?: boolean
  readonly marketplaceProfile?: {
    readonly username?: string
    readonly description?: string
    readonly email?: string
    readonly photoURL?: string
  }
}

/** A team (section 2.8). Its times are numbers of an unstated unit. */
export type Team = { readonly ID: string } & Optional<'orgId' | 'key' | 'label' | 'description', string> &
  Optional<'memberIds', readonly string[]> &
  Optional<'ts' | 'lastModified', number> &
  Unlisted

type Onboarding = Optional<'currentStep', number> &
  Optional<'isCompleted', boolean> &
  Optional<'completedSteps', readonly number[]> & {
    readonly personalInfo?: Optional<'fullName' | 'companyName' | 'role' | 'industry', string> & Unlisted
    readonly preferences?: Optional<'primaryUseCase', string> &
      Optional<'communicationPreferences' | 'goals', readonly unknown[]> &
      Unlisted
    readonly setupData?: Optional<'selectedAgents', readonly unknown[]> & Unlisted
  } & Unlisted

/** An organization (section 2.7). `dashboardPassword`, `magicCode`, `usedSecret` and `FB_PUSH_TOKEN` are secrets. */
export type Organization = { readonly ID: string } & Optional<
  | 'firebaseUid'
  | 'agencyId'
  | 'userId'
  | 'ownerID'
  | 'orgId'
  | 'workspaceId'
  | 'name'
  | 'email'
  | 'squarePhotoURL'
  | 'dashboardUsername'
  | 'dashboardPassword'
  | 'magicCode'
  | 'usedSecret'
  | 'FB_PUSH_TOKEN'
  | 'type'
  | 'status'
  | 'signupSource'
  | 'preferredLanguage'
  | 'stripeCustomerId'
  | 'dashboardLayout',
  string
> &
  Optional<
    | 'widgetIDs'
    | 'canAccess'
    | 'allowedChannels'
    | 'allowedIntegrations'
    | 'clientTabOrder'
    | 'defaultClientAccess'
    | 'defaultClientTabOrder'
    | 'adminIDs'
    | 'supportIDs'
    | 'predefinedTags'
    | 'convoTags',
    readonly string[]
  > &
  Optional<
    | 'isAdmin'
    | 'isOrgAdmin'
    | 'canDelegateChats'
    | 'canSelfEdit'
    | 'allowCreateAgents'
    | 'hideAdvancedSettings'
    | 'enableHumanHandoff'
    | 'isNewSignup',
    boolean
  > &
  Optional<'index' | 'ts' | 'lastModified' | 'lastEmailSentTS' | 'lastInvitationTs', number> & {
    readonly widgets?: readonly unknown[] | null
    readonly cannedResponses?: readonly (Optional<'key' | 'content', string> & Unlisted)[] | null
    readonly notificationsSettings?:
      | (Optional<'notifyThrough' | 'notifyIf', string> & Optional<'emailNotifyOnNewLead', boolean> & Unlisted)
      | null
    readonly handoff?: (Optional<'maxAssignees', number> & Unlisted) | null
    readonly internal?: (Optional<'hasChangedPassword', boolean> & Unlisted) | null
    readonly settings?: (Optional<'disableClientAccess', boolean> & Unlisted) | null
    readonly teams?: readonly (Optional<'ID' | 'key' | 'label' | 'description' | 'orgId', string> & Unlisted)[] | null
    readonly onboardingState?: Onboarding | null
  } & Unlisted

/** A page that the crawler has read, with its content (section 2.9). `markdown` and `html` are present if available. */
export interface CrawlerPage {
  readonly page: { readonly id: string } & Optional<
    'url' | 'urlHash' | 'title' | 'description' | 'imageUrl' | 'userId',
    string
  > &
    Optional<'scrapedAt' | 'mdCharCount' | 'htmlCharCount', number> &
    Optional<'failed', boolean> &
    Unlisted
  readonly content?:
    | (Optional<'urlScraped' | 'urlHash', string> & {
        readonly scrapeResponse?:
          | (Optional<'urlScraped' | 'markdown' | 'html', string> &
              Optional<'urlsDiscovered', readonly string[]> & {
                readonly metadata?:
                  | (Optional<'title' | 'description' | 'ogImage' | 'favicon', string> & Unlisted)
                  | null
                readonly err?: unknown
              } & Unlisted)
          | null
      } & Unlisted)
    | null
}
