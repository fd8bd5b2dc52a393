//! Plays recorded sessions through gRPC, as the runtime of the recorded agent would have spoken to the daemon.
//!
//! Each step is planned with the trace's words. Where the tool that the trace calls next is not in the context, the
//! agent asks `request_tool`, in the same words and never by name, and takes another turn; where that does not bring it
//! either, it calls the tool all the same, as was recorded. Arguments stand in no trace, so each call is given made
//! ones. What came of it all is the daemon's to say; only what it cannot know is counted here.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, bail};
use indicatif::ProgressBar;
use serde_json::json;
use tokio::task::JoinSet;
use tonic::transport::Channel;

use super::NAMESPACE;
use super::catalog::Toolbox;
use super::context::Context;
use super::recording::{MODEL, Script, ScriptCall, ScriptStep, WINDOW};
use crate::core::render::CALL_TOOL;
use crate::proto::request_tool_request::Ask;
use crate::proto::session_service_client::SessionServiceClient;
use crate::proto::{
    Call, CheckedCall, CloseSessionRequest, Delivery, Ending, Format, OpenSessionRequest, Outcome, OutcomeResult,
    PlanStepRequest, Query, ReportOutcomesRequest, RequestToolRequest, ValidateCallsRequest, Verdict,
};

/// What was played, as far as the daemon does not know it.
#[derive(Debug, Default)]
pub struct Played {
    /// The tokenizer that the daemon counts with.
    pub tokenizer: String,
    /// Steps of the trace; the daemon planned more, one for each request for a tool.
    pub recorded_steps: u64,
    /// Calls of the trace.
    pub recorded_calls: u64,
    /// Calls that the daemon did not let run because the made arguments do not fit.
    pub unfit_arguments: u64,
    /// Calls that it did not let run because there is no such tool, or none that may be used.
    pub unusable_tools: u64,
    /// Tokens of the daemon's replies besides definitions, summed over the steps that had them in the context.
    pub reply_tokens: u64,
}

impl Played {
    fn add(&mut self, other: Self) {
        if self.tokenizer.is_empty() {
            self.tokenizer = other.tokenizer;
        }
        self.recorded_steps += other.recorded_steps;
        self.recorded_calls += other.recorded_calls;
        self.unfit_arguments += other.unfit_arguments;
        self.unusable_tools += other.unusable_tools;
        self.reply_tokens += other.reply_tokens;
    }
}

/// Plays scripts, `n_at_once` sessions at a time, each started in order. The first failure ends it.
pub async fn play(
    channel: &Channel,
    scripts: Vec<Script>,
    toolbox: Arc<Toolbox>,
    n_at_once: usize,
    progress: &ProgressBar,
) -> anyhow::Result<Played> {
    let queue = Arc::new(Mutex::new(scripts.into_iter()));
    let mut workers = JoinSet::new();
    for _ in 0..n_at_once {
        let client = SessionServiceClient::new(channel.clone());
        workers.spawn(play_from(queue.clone(), client, toolbox.clone(), progress.clone()));
    }
    let mut played = Played::default();
    while let Some(ended) = workers.join_next().await {
        played.add(ended.context("a player ended by a panic")??);
    }
    Ok(played)
}

/// Plays one script after the other until none is left.
async fn play_from(
    queue: Arc<Mutex<std::vec::IntoIter<Script>>>,
    client: SessionServiceClient<Channel>,
    toolbox: Arc<Toolbox>,
    progress: ProgressBar,
) -> anyhow::Result<Played> {
    let mut played = Played::default();
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some(script) = next else { return Ok(played) };
        let player = Player::open(client.clone(), &toolbox, &script).await?;
        played.add(player.play(&script, &progress).await?);
    }
}

/// One session being played.
struct Player<'a> {
    client: SessionServiceClient<Channel>,
    toolbox: &'a Toolbox,
    session: String,
    context: Context,
    /// Outcomes that go with the next step.
    outcomes: Vec<Outcome>,
    n_steps: u64,
    n_calls: u64,
    played: Played,
}

impl<'a> Player<'a> {
    async fn open(
        mut client: SessionServiceClient<Channel>,
        toolbox: &'a Toolbox,
        script: &Script,
    ) -> anyhow::Result<Self> {
        let request = OpenSessionRequest {
            namespace: NAMESPACE.into(),
            session_id: script.session.clone(),
            format: Format::Mcp.into(),
            delivery: Delivery::Invoke.into(),
            model: MODEL.into(),
            context_window: WINDOW,
            // Nothing that made arguments come to says anything about the agent's choice.
            played: true,
            ..OpenSessionRequest::default()
        };
        let opened = client.open_session(request).await.context("cannot open a session")?.into_inner();
        let block = opened.block.unwrap_or_default();
        let tokenizer = block.tokens.as_ref().map(|tokens| tokens.tokenizer.clone()).unwrap_or_default();
        Ok(Self {
            client,
            toolbox,
            session: script.session.clone(),
            context: Context::with_block(&block),
            outcomes: Vec::new(),
            n_steps: 0,
            n_calls: 0,
            played: Played { tokenizer, ..Played::default() },
        })
    }

    async fn play(mut self, script: &Script, progress: &ProgressBar) -> anyhow::Result<Played> {
        for step in &script.steps {
            self.play_step(step).await?;
            progress.inc(1);
        }
        self.close().await?;
        Ok(self.played)
    }

    async fn play_step(&mut self, step: &ScriptStep) -> anyhow::Result<()> {
        self.played.recorded_steps += 1;
        let mut step_id = self.plan(&step.words).await?;
        let lacks_a_tool = step.calls.iter().any(|call| !self.context.holds(&self.toolbox.alias(&call.tool)));
        if lacks_a_tool {
            self.request(&step_id, &step.words).await?;
            // The answer came back as a tool result, so the call is made in the model's next turn.
            step_id = self.plan(&step.words).await?;
        }
        self.call(&step_id, &step.calls).await
    }

    /// Plans a model request and returns the step's id.
    async fn plan(&mut self, words: &str) -> anyhow::Result<String> {
        self.n_steps += 1;
        let n_sent = self.outcomes.len();
        let request = PlanStepRequest {
            namespace: NAMESPACE.into(),
            session_id: self.session.clone(),
            key: format!("step {}", self.n_steps),
            query: Some(Query { user: words.into(), ..Query::default() }),
            present: Some(self.context.present()),
            outcomes: std::mem::take(&mut self.outcomes),
            ..PlanStepRequest::default()
        };
        let plan = self.client.plan_step(request).await.context("cannot plan a step")?.into_inner();
        check_stored(n_sent, plan.acks.iter().map(|ack| ack.result()))?;
        self.played.reply_tokens += self.context.reply_tokens();
        self.context.place(&plan.pieces, &plan.issued);
        Ok(plan.step_id)
    }

    /// Asks for a tool as the model would, in words.
    async fn request(&mut self, step_id: &str, words: &str) -> anyhow::Result<()> {
        let request = RequestToolRequest {
            namespace: NAMESPACE.into(),
            session_id: self.session.clone(),
            step_id: step_id.into(),
            call_id: self.next_call_id(),
            ask: Some(Ask::Need(words.into())),
            present: Some(self.context.present()),
        };
        let answer = self.client.request_tool(request).await.context("cannot request a tool")?.into_inner();
        self.context.place(&answer.pieces, &answer.issued);
        Ok(())
    }

    /// Makes the calls of a reply, and keeps their outcomes for the next step.
    async fn call(&mut self, step_id: &str, recorded: &[ScriptCall]) -> anyhow::Result<()> {
        let mut calls = Vec::new();
        for call in recorded {
            calls.push(self.make_call(call));
        }
        let request = ValidateCallsRequest {
            namespace: NAMESPACE.into(),
            session_id: self.session.clone(),
            step_id: step_id.into(),
            calls,
        };
        let checked = self.client.validate_calls(request).await.context("cannot validate calls")?.into_inner();
        for (call, checked) in recorded.iter().zip(checked.calls) {
            self.played.recorded_calls += 1;
            if checked.run {
                self.outcomes.push(outcome(step_id, &checked, call.ended_well));
                continue;
            }
            match checked.verdict() {
                Verdict::InvalidArguments => self.played.unfit_arguments += 1,
                _ => self.played.unusable_tools += 1,
            }
            self.context.place(&checked.pieces, &checked.issued);
        }
        Ok(())
    }

    /// Writes a call as a model would: a resident by its own name, any other tool through the meta tool.
    fn make_call(&mut self, call: &ScriptCall) -> Call {
        let alias = self.toolbox.alias(&call.tool);
        let arguments = self.toolbox.arguments(&call.tool);
        let call_id = self.next_call_id();
        if self.context.is_resident(&alias) {
            return Call { call_id, name: alias, arguments: arguments.to_string().into() };
        }
        let wrapped = json!({ "name": alias, "arguments": arguments });
        Call { call_id, name: CALL_TOOL.into(), arguments: wrapped.to_string().into() }
    }

    /// Reports the last outcomes, waits until all of them are on disk, and closes the session.
    async fn close(&mut self) -> anyhow::Result<()> {
        let n_sent = self.outcomes.len();
        let report = ReportOutcomesRequest {
            namespace: NAMESPACE.into(),
            session_id: self.session.clone(),
            outcomes: std::mem::take(&mut self.outcomes),
            durable: true,
            ..ReportOutcomesRequest::default()
        };
        let reported = self.client.report_outcomes(report).await.context("cannot report outcomes")?.into_inner();
        check_stored(n_sent, reported.acks.iter().map(|ack| ack.result()))?;
        let close = CloseSessionRequest {
            namespace: NAMESPACE.into(),
            session_id: self.session.clone(),
            ..CloseSessionRequest::default()
        };
        self.client.close_session(close).await.context("cannot close a session")?;
        Ok(())
    }

    fn next_call_id(&mut self) -> String {
        self.n_calls += 1;
        format!("call {}", self.n_calls)
    }
}

/// Returns the outcome of a call that ran. A trace that says *not ok* does not say why: that is an unspecified ending.
fn outcome(step_id: &str, checked: &CheckedCall, ended_well: bool) -> Outcome {
    let ending = if ended_well { Ending::Ok } else { Ending::Unspecified };
    Outcome { call_id: checked.call_id.clone(), step_id: step_id.into(), ending: ending.into(), ..Outcome::default() }
}

/// Figures over part of the outcomes would be wrong figures.
fn check_stored(n_sent: usize, results: impl Iterator<Item = OutcomeResult>) -> anyhow::Result<()> {
    let n_applied = results.filter(|result| *result == OutcomeResult::Applied).count();
    if n_applied == n_sent {
        return Ok(());
    }
    bail!("{n_applied} of {n_sent} outcomes were counted, must be all")
}
