-- By the team that was asked for: a handoff that went to several teams counts once.
select
    workspace_id,
    coalesce(requested_team_label, 'none') as team,
    count(*) as handoffs,
    sum(case when is_accepted then 1 else 0 end) as accepted,
    avg(wait_seconds) as average_wait_seconds
from {{ source('convohouse_marts', 'fct_handoffs') }}
where is_counted
group by workspace_id, coalesce(requested_team_label, 'none')
