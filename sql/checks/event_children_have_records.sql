-- A turn, a message or an answer belongs to a transcript, a history or a form that is there, and has its number.
SELECT 'conversation_turns' AS child, workspace_id, conversation_id AS id, _record FROM conversation_turns
  ANTI JOIN conversation_transcripts USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'conversation_model_messages' AS child, workspace_id, conversation_id AS id, _record FROM conversation_model_messages
  ANTI JOIN conversation_model_histories USING (workspace_id, agent_id, conversation_id, _record)
UNION ALL
SELECT 'form_submission_answers' AS child, workspace_id, event_id AS id, _record FROM form_submission_answers
  ANTI JOIN form_submissions USING (workspace_id, event_id, _record);
