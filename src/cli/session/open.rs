//! `session open`, and how a session is opened wherever a command needs one.

use clap::ValueEnum;
use serde_json::json;

use super::blocks;
use crate::cli::output::{facts, word};
use crate::cli::{DONE, Shell, json};
use crate::proto::{Delivery, Format, OpenSessionRequest, OpenSessionResponse, OwnTool, Pool};

/// Open a session, or look at the block of one that is open
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib session open conversation-1 --format openai-chat --allow 'github/*'")]
pub(super) struct Args {
    /// Its id; the daemon makes one where it is left out
    session: Option<String>,
    #[command(flatten)]
    opening: Opening,
    /// Show the pieces as a runtime would place them
    #[arg(long)]
    pieces: bool,
}

/// How a session is opened.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Opening a session")]
pub(in crate::cli) struct Opening {
    /// Format of everything rendered
    #[arg(long, value_enum, default_value = "mcp")]
    format: FormatName,
    /// How on-demand definitions arrive; the daemon chooses by the model where it is left out
    #[arg(long, value_enum)]
    delivery: Option<DeliveryName>,
    /// The model, as the provider names it; it decides the delivery where that is left out
    #[arg(long, default_value = "", hide_default_value = true)]
    model: String,
    /// Context window in tokens; the namespace's default where it is left out
    #[arg(long, value_name = "TOKENS", default_value_t = 0, hide_default_value = true)]
    window: u32,
    /// Only these tools: source/name or source/*
    #[arg(long, value_delimiter = ',', value_name = "TOOL")]
    allow: Vec<String>,
    /// Without these tools, taken out after --allow
    #[arg(long, value_delimiter = ',', value_name = "TOOL")]
    deny: Vec<String>,
    /// Tools that are always in the block
    #[arg(long, value_delimiter = ',', value_name = "TOOL")]
    must_have: Vec<String>,
    /// Write a cache breakpoint into the block (Anthropic)
    #[arg(long)]
    mark_cache: bool,
    /// Names of the runtime's own tools
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    own: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    /// Model Context Protocol tool objects
    Mcp,
    /// OpenAI Chat Completions
    OpenaiChat,
    /// OpenAI Responses
    OpenaiResponses,
    /// Anthropic Messages
    Anthropic,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DeliveryName {
    /// As an item appended to the conversation (Anthropic, OpenAI Responses)
    Append,
    /// Deferred in the tools array, and referred to (Anthropic)
    Reference,
    /// As text; calls go through the meta tool `call_tool`
    Invoke,
    /// The tools array is rebuilt
    Tools,
}

impl Opening {
    /// Returns the request that opens a session so.
    pub(in crate::cli) fn to_request(&self, namespace: &str, session_id: &str) -> OpenSessionRequest {
        let format = match self.format {
            FormatName::Mcp => Format::Mcp,
            FormatName::OpenaiChat => Format::OpenaiChat,
            FormatName::OpenaiResponses => Format::OpenaiResponses,
            FormatName::Anthropic => Format::Anthropic,
        };
        let delivery = match self.delivery {
            None => Delivery::Unspecified,
            Some(DeliveryName::Append) => Delivery::Append,
            Some(DeliveryName::Reference) => Delivery::Reference,
            Some(DeliveryName::Invoke) => Delivery::Invoke,
            Some(DeliveryName::Tools) => Delivery::Tools,
        };
        let own_tools = self.own.iter().map(|name| OwnTool { name: name.clone(), tokens: 0 }).collect();
        let pool = Pool { allow: self.allow.clone(), deny: self.deny.clone(), must_have: self.must_have.clone() };
        OpenSessionRequest {
            namespace: namespace.to_owned(),
            session_id: session_id.to_owned(),
            format: format.into(),
            delivery: delivery.into(),
            model: self.model.clone(),
            context_window: self.window,
            pool: Some(pool),
            own_tools,
            mark_cache: self.mark_cache,
            ..OpenSessionRequest::default()
        }
    }
}

/// Opens the session and prints its block.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let request = args.opening.to_request(&remote.namespace, args.session.as_deref().unwrap_or_default());
    let opened = remote.sessions().open_session(request).await?.into_inner();
    let value = json!({
        "session_id": opened.session_id,
        "block": opened.block.as_ref().map(json::block),
        "resumed": opened.resumed,
        "delivery": word(opened.delivery().as_str_name(), "DELIVERY_"),
        "betas": opened.betas,
        "expire_time": json::time(opened.expire_time.as_ref()),
        "excluded": json::list(&opened.excluded, json::exclusion),
        "durable": opened.durable,
    });
    shell.print(&value, &describe(&opened, args.pieces))?;
    Ok(DONE)
}

fn describe(opened: &OpenSessionResponse, with_pieces: bool) -> String {
    let was_open = if opened.resumed { ", which was open already" } else { "" };
    let mut text = facts(&[
        ("session", format!("{}{was_open}", opened.session_id)),
        ("delivery", word(opened.delivery().as_str_name(), "DELIVERY_")),
        ("betas", if opened.betas.is_empty() { "none".to_owned() } else { opened.betas.join(", ") }),
        ("ends", json::time(opened.expire_time.as_ref())),
    ]);
    for exclusion in &opened.excluded {
        let why = json::reason(exclusion.reason());
        text.push_str(&format!("left out {}: {why} {}\n", exclusion.name, exclusion.detail));
    }
    if let Some(block) = &opened.block {
        text.push_str(&blocks::describe(block));
        if with_pieces {
            text.push_str(&blocks::describe_pieces(&block.pieces));
        }
    }
    text
}
