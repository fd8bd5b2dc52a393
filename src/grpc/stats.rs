//! `StatsService`: figures, and the log as a file.

use std::cmp::Reverse;
use std::ops::ControlFlow;

use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::Api;
use super::convert::{self, namespace};
use super::status::{self, Fields};
use super::stream::Messages;
use crate::core::event::{CacheBreak, PlanResult, Presence, RequestResult, SessionEnd, StepEnd, ToolState, Verdict};
use crate::core::ids::{Seq, ToolId};
use crate::core::namespace::{Exposure, Namespace};
use crate::offline::demand::Demand;
use crate::proto;
use crate::proto::stats_service_server::StatsService;

/// Most tools that figures are given of.
const TOP: usize = 1_000;

/// Bytes of lines in one message of an export.
const EXPORT_BYTES: usize = 256 * 1024;

/// Messages of an export that wait for a slow reader.
const EXPORT_QUEUE: usize = 4;

#[tonic::async_trait]
impl StatsService for Api {
    type ExportTrafficStream = Messages<proto::ExportTrafficResponse>;

    async fn get_stats(
        &self,
        request: Request<proto::GetStatsRequest>,
    ) -> Result<Response<proto::GetStatsResponse>, Status> {
        self.serve("/toolcrib.v1.StatsService/GetStats", self.figures(request.into_inner())).await
    }

    async fn export_traffic(
        &self,
        request: Request<proto::ExportTrafficRequest>,
    ) -> Result<Response<Self::ExportTrafficStream>, Status> {
        self.serve_stream("/toolcrib.v1.StatsService/ExportTraffic", self.export(request.into_inner())).await
    }
}

impl Api {
    async fn figures(&self, request: proto::GetStatsRequest) -> Result<proto::GetStatsResponse, Status> {
        let handles = if request.namespace.is_empty() {
            self.engine.namespaces().into_values().collect()
        } else {
            let mut fields = Fields::default();
            let space = namespace(&request.namespace, &mut fields);
            fields.finish()?;
            vec![self.engine.namespace(&space)?]
        };
        let top = (request.top as usize).min(TOP);
        let mut figures = Vec::new();
        for handle in handles {
            let metrics = self.metrics.namespace(handle.id());
            let mut one = handle.look(move |namespace| figures_of(namespace, top)).await?;
            one.recall_p50 = metrics.recall_quantile(0.5).map(convert::duration);
            one.recall_p99 = metrics.recall_quantile(0.99).map(convert::duration);
            figures.push(one);
        }
        Ok(proto::GetStatsResponse { figures })
    }

    async fn export(
        &self,
        request: proto::ExportTrafficRequest,
    ) -> Result<Messages<proto::ExportTrafficResponse>, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let kind = proto::ExportKind::try_from(request.kind).unwrap_or(proto::ExportKind::Unspecified);
        fields.require(kind != proto::ExportKind::Unspecified, "kind", "must be events or demand");
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        // What was reported before is part of the export.
        handle.flush().await?;
        let engine = self.engine.clone();
        let (sender, receiver) = tokio::sync::mpsc::channel(EXPORT_QUEUE);
        tokio::task::spawn_blocking(move || {
            let begin = match engine.log_begin(&space) {
                Ok(begin) => begin,
                Err(error) => {
                    let _ = sender.blocking_send(Err(error.into()));
                    return;
                }
            };
            let mut lines = Lines { buffer: Vec::new(), begin, sender };
            let mut demand = Demand::default();
            let read = engine.read_log(&space, Seq(request.after), &mut |record, words| match kind {
                proto::ExportKind::Events => match serde_json::to_string(&record) {
                    Ok(line) => lines.push(&line),
                    Err(error) => lines.fail(status::internal("a record cannot be written", &error)),
                },
                _ => demand.take(&record, words).iter().try_for_each(|line| lines.push(line)),
            });
            match read {
                Ok(()) => {
                    for line in demand.finish() {
                        if lines.push(&line).is_break() {
                            return;
                        }
                    }
                    let _ = lines.send();
                }
                Err(error) => {
                    let _ = lines.fail(error.into());
                }
            }
        });
        Ok(Box::pin(ReceiverStream::new(receiver)))
    }
}

/// Gathers lines into messages; breaks when nobody reads any more.
struct Lines {
    buffer: Vec<u8>,
    /// The log's first record.
    begin: Seq,
    sender: tokio::sync::mpsc::Sender<Result<proto::ExportTrafficResponse, Status>>,
}

impl Lines {
    fn push(&mut self, line: &str) -> ControlFlow<()> {
        self.buffer.extend_from_slice(line.as_bytes());
        self.buffer.push(b'\n');
        if self.buffer.len() >= EXPORT_BYTES { self.send() } else { ControlFlow::Continue(()) }
    }

    fn send(&mut self) -> ControlFlow<()> {
        if self.buffer.is_empty() {
            return ControlFlow::Continue(());
        }
        let lines = std::mem::take(&mut self.buffer).into();
        match self.sender.blocking_send(Ok(proto::ExportTrafficResponse { lines, log_begin: self.begin.0 })) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn fail(&mut self, status: Status) -> ControlFlow<()> {
        let _ = self.sender.blocking_send(Err(status));
        ControlFlow::Break(())
    }
}

fn figures_of(namespace: &Namespace, top: usize) -> proto::Figures {
    let figures = namespace.figures();
    let calls = |presence| figures.calls.get(presence);
    let verdicts = |verdict| figures.selections.get(verdict);
    let plans = |result| figures.plans.get(result);
    let ends = |end| figures.plans_without_call.get(end);
    let requests = |result| figures.requests.get(result);
    let breaks = |cause| figures.cache_breaks.get(cause);
    let states = namespace.tools_by_state();
    let in_state = |state: ToolState| states.get(&state).copied().unwrap_or(0);
    let exposures = namespace.exposures();
    let stat = |tool: &ToolId| tool_stat(namespace, tool, exposures.get(tool).copied().unwrap_or_default());
    let ended = |end: SessionEnd| figures.sessions_ended.get(end);
    proto::Figures {
        namespace: namespace.id().to_string(),
        tick: namespace.tick().0,
        epoch: namespace.pool().epoch().0,
        steps: figures.steps(),
        calls: Some(proto::CallFigures {
            resident: calls(Presence::Resident),
            issued: calls(Presence::Issued),
            recalled: calls(Presence::Recalled),
            absent: calls(Presence::Absent),
            unknown: calls(Presence::Unknown),
        }),
        selections: Some(proto::SelectionFigures {
            right: verdicts(Verdict::Right),
            wrong_tool: verdicts(Verdict::WrongTool),
            unknown_tool: verdicts(Verdict::UnknownTool),
            unavailable: verdicts(Verdict::Unavailable),
            invalid_arguments: verdicts(Verdict::InvalidArguments),
            unjudged: verdicts(Verdict::Unjudged),
        }),
        tokens: Some(proto::TokenFigures {
            directory: figures.tokens.directory,
            resident: figures.tokens.resident,
            issued: figures.tokens.issued,
            meta: figures.tokens.meta,
            window: figures.tokens.window,
            everything: figures.tokens.everything,
        }),
        plans: Some(proto::PlanFigures {
            issued: plans(PlanResult::Issued),
            present_suffices: plans(PlanResult::PresentSuffices),
            nothing_found: plans(PlanResult::NothingFound),
            no_query: plans(PlanResult::NoQuery),
            degraded: plans(PlanResult::Degraded),
        }),
        plans_without_call: Some(proto::StepEndFigures {
            answered: ends(StepEnd::Answered),
            gave_up: ends(StepEnd::GaveUp),
            asked_user: ends(StepEnd::AskedUser),
            unknown: ends(StepEnd::Unknown),
        }),
        requests: Some(proto::RequestFigures {
            exact: requests(RequestResult::Exact),
            near: requests(RequestResult::Near),
            retrieved: requests(RequestResult::Retrieved),
            already_present: requests(RequestResult::AlreadyPresent),
            own: requests(RequestResult::Own),
            unavailable: requests(RequestResult::Unavailable),
            retired: requests(RequestResult::Retired),
            not_found: requests(RequestResult::NotFound),
        }),
        extra_hops: figures.extra_hops,
        reranks: Some(proto::RerankFigures {
            changed: figures.reranks_changed,
            unchanged: figures.reranks_unchanged,
            swapped_in: figures.swapped_in,
        }),
        tools: Some(proto::ToolStateFigures {
            active: in_state(ToolState::Active),
            quarantined: in_state(ToolState::Quarantined),
            probation: in_state(ToolState::Probation),
            held: in_state(ToolState::Held),
            pending: in_state(ToolState::Pending),
            withdrawn: in_state(ToolState::Withdrawn),
            retired: in_state(ToolState::Retired),
        }),
        transitions: figures
            .moves
            .iter()
            .map(|((state, cause), count)| proto::TransitionCount {
                new_state: proto::ToolState::from(*state).into(),
                cause: proto::MoveCause::from(*cause).into(),
                count: *count,
            })
            .collect(),
        sessions: Some(proto::SessionFigures {
            open: namespace.n_open() as u64,
            closed: ended(SessionEnd::Closed),
            expired: ended(SessionEnd::Expired),
            distinct_blocks_per_session_max: figures.distinct_blocks_per_session_max,
        }),
        recall_p50: None,
        recall_p99: None,
        hot_pool: namespace.pool().members().iter().map(stat).collect(),
        top: busiest(namespace, top).iter().map(stat).collect(),
        cache_breaks: Some(proto::CacheBreakFigures {
            tools: breaks(CacheBreak::Tools),
            other: breaks(CacheBreak::Other),
            expired: breaks(CacheBreak::Expired),
            unknown: breaks(CacheBreak::Unknown),
        }),
    }
}

/// Returns the tools with the most calls, ties by name.
fn busiest(namespace: &Namespace, top: usize) -> Vec<ToolId> {
    let mut tools: Vec<(u64, &ToolId)> = namespace
        .registry()
        .iter()
        .map(|(id, _)| (namespace.pool().usage(id).map_or(0, |usage| usage.calls), id))
        .collect();
    tools.sort_by_key(|(calls, id)| (Reverse(*calls), *id));
    tools.into_iter().take(top).map(|(_, id)| id.clone()).collect()
}

fn tool_stat(namespace: &Namespace, tool: &ToolId, exposure: Exposure) -> proto::ToolStat {
    let entry = namespace.registry().get(tool);
    let version = entry.map(|entry| entry.current().admitted().version).unwrap_or_default();
    proto::ToolStat {
        tool: Some(convert::tool_ref(tool, version)),
        state: entry.map_or(proto::ToolState::Unspecified, |entry| entry.state().into()).into(),
        calls: namespace.pool().usage(tool).map_or(0, |usage| usage.calls),
        heat: namespace.heat_key(tool) as f64 / (1u64 << 30) as f64,
        directory_exposures: exposure.directory,
        resident_exposures: exposure.resident,
        issued_exposures: exposure.issued,
    }
}
