//! `SessionService.Explain`: why a tool is or is not issued.

use tonic::Status;

use super::convert::{self, namespace, session_id};
use super::read::{self, check_present};
use super::status::Fields;
use super::{Api, in_background};
use crate::core::explain::{ExplainAsk, Explanation, PastIssue, Standing};
use crate::core::ids::{CallId, NamespaceId, StepId};
use crate::core::planning::{Budget, Fate, StepAsk};
use crate::core::view::View;
use crate::engine::Engine;
use crate::engine::explain::Explained;
use crate::proto;

/// Standings where nobody says how many.
const STANDINGS: u32 = 20;

/// Most standings.
const STANDINGS_MAX: u32 = 200;

impl Api {
    pub(super) async fn why(&self, request: proto::ExplainRequest) -> Result<proto::ExplainResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let session = (!request.session_id.is_empty()).then(|| session_id(&request.session_id, &mut fields));
        convert::optional_id(&request.name, "name", &mut fields);
        check_present(request.present.as_ref(), &mut fields);
        fields.require(request.limit <= STANDINGS_MAX, "limit", format!("must be at most {STANDINGS_MAX}"));
        fields.finish()?;

        let handle = self.engine.namespace(&space)?;
        let engine = self.engine.clone();
        in_background(move || {
            let ask = ExplainAsk {
                step: StepAsk {
                    key: "",
                    query: read::query(request.query.as_ref()),
                    present: read::present(&handle.view(), request.present.as_ref()),
                    max_tools: request.max_tools,
                    max_tokens: request.max_tokens,
                },
                name: &request.name,
                limit: if request.limit == 0 { STANDINGS } else { request.limit } as usize,
            };
            let explained = handle.explain(session.as_ref(), &ask)?;
            let mut answer = answer(&explained);
            for (standing, written) in explained.explanation.named.iter().zip(&mut answer.named) {
                written.last_transition = last_transition(&engine, &space, standing)?;
            }
            Ok(answer)
        })
        .await?
    }
}

/// Returns a tool's last move, where its state is why it is not issued.
fn last_transition(
    engine: &Engine,
    space: &NamespaceId,
    standing: &Standing,
) -> Result<Option<proto::Transition>, Status> {
    use crate::core::block::Exclusion;
    let (Some((tool, _)), Some(Fate::Excluded(Exclusion::State(_)))) = (&standing.tool, standing.fate) else {
        return Ok(None);
    };
    let moves = engine.read_moves(space, Some(tool), None, 1)?;
    Ok(moves.first().and_then(convert::transition))
}

fn answer(explained: &Explained) -> proto::ExplainResponse {
    let Explained { spec, view, explanation } = explained;
    let Explanation { plan, .. } = explanation;
    let exclusions = explanation.exclusions.iter().map(|excluded| proto::ExclusionCount {
        reason: convert::reason(excluded.why).into(),
        tools: excluded.n_tools,
        matching: excluded.n_matching,
    });
    proto::ExplainResponse {
        result: proto::PlanResult::from(plan.planned.result).into(),
        pass_through: explanation.pass_through,
        issued: convert::offers(view, spec, &plan.planned.issued),
        budget: Some(budget(plan.budget)),
        top_m: plan.limit,
        tools: explanation.n_tools,
        candidates: explanation.n_candidates,
        matching: explanation.n_matching,
        exclusions: exclusions.collect(),
        standings: explanation.standings.iter().map(standing).collect(),
        named: explanation.named.iter().map(standing).collect(),
        nearest: convert::names(&explanation.nearest),
        past: explanation.past.iter().map(|past| past_issue(view, past)).collect(),
    }
}

fn budget(budget: Budget) -> proto::StepBudget {
    let Budget { window, most, held, left } = budget;
    proto::StepBudget { window, most, held, left }
}

fn standing(standing: &Standing) -> proto::Standing {
    let part = |(name, value): &(&str, f32)| proto::ScorePart { name: (*name).into(), value: *value };
    proto::Standing {
        name: standing.name.clone(),
        tool: standing.tool.as_ref().map(|(tool, version)| convert::tool_ref(tool, *version)),
        rank: standing.rank,
        score: standing.score,
        parts: standing.dissected.parts.iter().map(part).collect(),
        words: standing.dissected.words.clone(),
        tokens: standing.tokens,
        fate: convert::fate(standing.fate).into(),
        reason: standing.fate.map_or(proto::Reason::Unknown, convert::fate_reason).into(),
        detail: convert::fate_in_words(standing.fate).into(),
        next_step: standing.next_step.clone(),
        last_transition: None,
    }
}

fn past_issue(view: &View, past: &PastIssue) -> proto::PastIssue {
    let PastIssue { step, call, issue } = past;
    proto::PastIssue {
        step_id: step.as_ref().map(StepId::to_string).unwrap_or_default(),
        call_id: call.as_ref().map(CallId::to_string).unwrap_or_default(),
        name: view.alias(&issue.tool).map(ToString::to_string).unwrap_or_default(),
        tool: Some(convert::tool_ref(&issue.tool, issue.version)),
        origin: proto::Origin::from(issue.origin).into(),
        score: issue.score,
    }
}
