-- Quotients of sums: an average of daily averages would weigh a day with one conversation like one with a thousand.
with daily as (
    select * from {{ source('convohouse_marts', 'conversations_daily') }}
),

calendar as (
    select workspace_id, day, week_begin from {{ source('convohouse_marts', 'dim_calendar') }}
)

select
    daily.workspace_id,
    daily.agent_id,
    max(daily.agent_title) as agent_title,
    calendar.week_begin,
    sum(daily.conversations) as conversations,
    sum(daily.ever_resolved) as resolved,
    100.0 * sum(daily.ever_resolved) / nullif(sum(daily.conversations), 0) as resolved_percent,
    sum(daily.csat_score_sum) / nullif(sum(daily.csat_answers), 0) as csat_score,
    sum(daily.tokens_usd) as tokens_usd
from daily
inner join calendar on calendar.workspace_id = daily.workspace_id and calendar.day = daily.day
group by daily.workspace_id, daily.agent_id, calendar.week_begin
