//! `StatsService`: figures, and the log as a file.

use std::cmp::Reverse;
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::time::Duration;

use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::convert::{self, namespace};
use super::status::{self, Fields};
use super::stream::Messages;
use super::{Api, figures, words};
use crate::core::admission;
use crate::core::ids::{Seq, ToolId};
use crate::core::namespace::{Rank, ToolOrder, ToolStat};
use crate::offline::demand::Demand;
use crate::proto;
use crate::proto::stats_service_server::StatsService;
use crate::telemetry::metrics::Shed;

/// Most tools that figures are given of.
const TOP: usize = 1_000;

/// Bytes of lines in one message of an export.
const EXPORT_BYTES: usize = 256 * 1024;

/// Messages of an export that wait for a slow reader.
const EXPORT_QUEUE: usize = 4;

#[tonic::async_trait]
impl StatsService for Api {
    type ExportTrafficStream = Messages<proto::ExportTrafficResponse>;
    type WatchStream = Messages<proto::WatchResponse>;

    async fn get_stats(
        &self,
        request: Request<proto::GetStatsRequest>,
    ) -> Result<Response<proto::GetStatsResponse>, Status> {
        self.serve("/toolcrib.v1.StatsService/GetStats", self.figures(request.into_inner())).await
    }

    async fn list_tool_stats(
        &self,
        request: Request<proto::ListToolStatsRequest>,
    ) -> Result<Response<proto::ListToolStatsResponse>, Status> {
        self.serve("/toolcrib.v1.StatsService/ListToolStats", self.tool_page(request.into_inner())).await
    }

    async fn export_traffic(
        &self,
        request: Request<proto::ExportTrafficRequest>,
    ) -> Result<Response<Self::ExportTrafficStream>, Status> {
        self.serve_stream("/toolcrib.v1.StatsService/ExportTraffic", self.export(request.into_inner())).await
    }

    async fn watch(&self, request: Request<proto::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let permit = self.watches.clone().try_acquire_owned().map_err(|_| {
            self.metrics.shed(Shed::Watches);
            status::overloaded("as many watches are open as limits.watches allows; end one, or try again")
        });
        let most = Duration::from_secs(self.limits.watch_secs);
        self.stream_within("/toolcrib.v1.StatsService/Watch", most, permit, self.begin_watch(request.into_inner()))
            .await
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
            let mut one = handle.look(move |namespace| figures::namespace(namespace, top)).await?;
            one.recall_p50 = metrics.recall_quantile(0.5).map(convert::duration);
            one.recall_p99 = metrics.recall_quantile(0.99).map(convert::duration);
            figures.push(one);
        }
        Ok(proto::GetStatsResponse { figures })
    }

    async fn tool_page(&self, request: proto::ListToolStatsRequest) -> Result<proto::ListToolStatsResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let order = match request.order {
            0 => Some(ToolOrder::Calls),
            number => words::tool_order(number),
        };
        fields.require(order.is_some(), "order", "must be one of calls, heat, failures, absent, density, name");
        let order = order.unwrap_or(ToolOrder::Calls);
        let is_source = request.source.is_empty() || admission::fits_source(&request.source);
        fields.require(is_source, "source", "must be the source of tools, or empty for all");
        let after: Option<Place> = request.page_token.parse().ok();
        let is_token = after.as_ref().is_some_and(|after| after.order == proto::ToolOrder::from(order) as i32);
        fields.require(
            is_token || request.page_token.is_empty(),
            "page_token",
            "must be next_page_token of the page before, asked in the same order",
        );
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let wanted = request.contains.to_lowercase();
        let matches = move |stat: &ToolStat| {
            (request.source.is_empty() || *stat.tool.source == *request.source)
                && (wanted.is_empty()
                    || stat.tool.to_string().to_lowercase().contains(&wanted)
                    || stat.alias.as_str().to_lowercase().contains(&wanted))
        };
        let mut stats = handle.look(|namespace| namespace.tool_stats()).await?;
        stats.retain(matches);
        let total_size = stats.len() as u32;
        stats.sort_by_cached_key(|stat| Place::of(stat, order));
        if let Some(after) = after {
            stats.retain(|stat| Place::of(stat, order) > after);
        }
        let size = super::registry::page_size(request.page_size);
        let last = stats.get(size.saturating_sub(1)).filter(|_| stats.len() > size);
        let next_page_token = last.map(|last| Place::of(last, order).to_string()).unwrap_or_default();
        let tools = stats.iter().take(size).map(figures::tool).collect();
        Ok(proto::ListToolStatsResponse { tools, next_page_token, total_size })
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

/// A tool's place in the list: what ranks higher first, equals by name. Written `order:rank:rank:source/name`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    order: i32,
    rank: Reverse<Rank>,
    tool: ToolId,
}

impl Place {
    fn of(stat: &ToolStat, order: ToolOrder) -> Self {
        let rank = Reverse(stat.rank(order));
        Self { order: proto::ToolOrder::from(order).into(), rank, tool: stat.tool.clone() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reverse((first, second)) = self.rank;
        write!(f, "{}:{first}:{second}:{}", self.order, self.tool)
    }
}

/// A text is no place in the list.
struct NoPlace;

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let mut parts = text.splitn(4, ':');
        let mut next = || parts.next().ok_or(NoPlace);
        let order = next()?.parse().map_err(|_| NoPlace)?;
        let rank = (next()?.parse().map_err(|_| NoPlace)?, next()?.parse().map_err(|_| NoPlace)?);
        Ok(Self { order, rank: Reverse(rank), tool: next()?.parse().map_err(|_| NoPlace)? })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_read_as_it_is_written_and_the_higher_rank_comes_first() {
        let place = |rank, tool: &str| Place { order: 5, rank: Reverse(rank), tool: tool.parse().expect("a tool") };
        let written = place((u64::MAX - 1, 7), "s/a").to_string();
        assert_eq!(written.parse().ok(), Some(place((u64::MAX - 1, 7), "s/a")));
        assert!(place((2, 0), "s/b") < place((1, 9), "s/a") && place((1, 9), "s/a") < place((1, 9), "s/b"));
        for text in ["", "5", "5:1:2", "5:1:2:no", "x:1:2:s/a", "5:-1:2:s/a"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }
}
