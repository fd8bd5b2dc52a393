//! `plan`: what a runtime would get for one step.

use serde_json::{Value, json};

use super::output::{facts, word};
use super::session::blocks;
use super::visit::{InSession, Visit};
use super::{DONE, Shell, json};
use crate::proto::{PlanStepRequest, PlanStepResponse, Query};

/// Plan one step: what a runtime would get for a query
///
/// The session is opened where it is not open; without --session one is made and closed again. A plan is a step, and
/// counts as one in the figures.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib plan --query \"create an issue\"")]
pub(super) struct Args {
    /// The user's last message
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    query: String,
    /// What the model wrote since
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    model_text: String,
    /// The standing task
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    goal: String,
    /// Key of the step: the same key gives the same plan
    #[arg(long)]
    key: Option<String>,
    /// At most this many tools
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    max_tools: u32,
    /// At most this many tokens
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    max_tokens: u32,
    #[command(flatten)]
    visit: InSession,
}

/// Plans the step and prints the plan.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let (visit, plan) = Visit::during(&remote, &args.visit, async |session_id| {
        let request = request(&args, &remote.namespace, session_id);
        Ok(remote.sessions().plan_step(request).await?.into_inner())
    })
    .await?;
    shell.print(&to_json(&plan, &visit), &describe(&plan, &visit, args.visit.pieces))?;
    Ok(DONE)
}

fn request(args: &Args, namespace: &str, session_id: &str) -> PlanStepRequest {
    PlanStepRequest {
        namespace: namespace.to_owned(),
        session_id: session_id.to_owned(),
        key: args.key.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string()),
        query: Some(Query { user: args.query.clone(), model: args.model_text.clone(), goal: args.goal.clone() }),
        present: args.visit.present(),
        max_tools: args.max_tools,
        max_tokens: args.max_tokens,
        ..PlanStepRequest::default()
    }
}

fn to_json(plan: &PlanStepResponse, visit: &Visit) -> Value {
    json!({
        "session": visit.to_json(),
        "step_id": plan.step_id,
        "result": word(plan.result().as_str_name(), "PLAN_RESULT_"),
        "pieces": json::list(&plan.pieces, json::piece),
        "issued": json::list(&plan.issued, json::offer),
        "listing": plan.listing.as_ref().map(json::listing),
        "tokens": plan.tokens.as_ref().map(json::tokens),
        "block_digest": plan.block_digest,
        "pending": plan.pending,
        "breaks_cache": plan.breaks_cache,
        "degraded": plan.degraded,
        "excluded": json::list(&plan.excluded, json::exclusion),
    })
}

fn describe(plan: &PlanStepResponse, visit: &Visit, with_pieces: bool) -> String {
    let listing = plan.listing.clone().unwrap_or_default();
    let pending = if plan.pending { "a refresh might change the block" } else { "" };
    let cache = if plan.breaks_cache { "placing the pieces breaks the provider's prompt cache" } else { "" };
    let mut text = facts(&[
        ("result", word(plan.result().as_str_name(), "PLAN_RESULT_")),
        ("degraded", plan.degraded.clone()),
        ("matched", format!("{}, of which {} issued", listing.total, listing.returned)),
        ("hint", listing.hint),
        ("left out", blocks::describe_exclusions(&plan.excluded)),
        ("tokens", plan.tokens.as_ref().map(blocks::describe_tokens).unwrap_or_default()),
        ("cache", cache.to_owned()),
        ("pending", pending.to_owned()),
        ("step", plan.step_id.clone()),
    ]);
    if !plan.issued.is_empty() {
        text.push_str(&format!("\n{}", blocks::describe_offers(&plan.issued)));
    }
    if with_pieces {
        text.push_str(&blocks::describe_pieces(&plan.pieces));
    }
    text.push_str(&format!("\n{}\n", visit.describe()));
    text
}
