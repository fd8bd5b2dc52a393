//! Finding tools by words in any script, and by their names.

use toolcrib::core::tokens;
use toolcrib::proto::*;

use crate::common::{TestDaemon, definition};

fn tool(source: &str, name: &str, description: &str) -> ToolDefinition {
    let schema = r#"{"type":"object","properties":{}}"#;
    let measured =
        tokens::count(&format!(r#"{{"name":"{name}","description":"{description}","input_schema":{schema}}}"#));
    ToolDefinition {
        source: source.into(),
        name: name.into(),
        summary: description.into(),
        when_to_use: "When it is asked for.".into(),
        keywords: vec!["misc".into()],
        size_tokens: measured,
        description: description.into(),
        input_schema: schema.into(),
        ..Default::default()
    }
}

#[tokio::test]
async fn queries_in_any_script_and_exact_names_find_their_tool_first() {
    let mut daemon = TestDaemon::start().await;
    daemon.set_policy("session.pass_through_share", "0").await;
    let mut tools = vec![
        tool("egov", "search_laws", "日本の法令を検索します"),
        tool("egov", "weather", "今日の天気を調べます"),
        tool("users", "getUserByEmail", "Looks somebody up by an address"),
        tool("github", "create_issue", "Opens a ticket in a repository"),
        tool("github", "list_commits", "Shows what was committed"),
        tool("plugins", "mcp__plugin_x__ask_codex", "Passes a question on to another assistant"),
        tool("bank", "portfolio", "Показывает портфель ценных бумаг"),
        tool("mail", "send_email", "Delivers a message to a mailbox"),
    ];
    tools.extend(["play_music", "book_flight", "draw_chart", "count_words", "resize_image"].map(definition));
    daemon.register(tools).await;
    let expected = [
        ("法令", "egov__search_laws"),
        ("get user", "users__getUserByEmail"),
        ("creating issues", "github__create_issue"),
        ("ask_codex", "ask_codex"),
        ("покажи мой портфель", "bank__portfolio"),
        ("mail", "mail__send_email"),
        ("github__list_commits", "github__list_commits"),
        ("list_commits", "github__list_commits"),
    ];
    for (i, (query, wanted)) in expected.iter().enumerate() {
        let session = i.to_string();
        daemon.open(&session).await;
        let plan = daemon.plan(&session, query).await;
        let first = plan.issued.first().map(|offer| offer.name.clone()).unwrap_or_default();
        assert!(first.contains(wanted), "{query} finds {first:?}, not {wanted}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn odd_queries_get_a_sane_answer() {
    let mut daemon = TestDaemon::start().await;
    daemon.set_policy("session.pass_through_tools", "0").await;
    daemon.set_policy("session.pass_through_share", "0").await;
    daemon.register(vec![definition("send_email"), definition("read_email")]).await;
    daemon.open("a").await;
    assert_eq!(daemon.plan("a", "").await.result(), PlanResult::NoQuery);
    for query in ["the of and to", "🙂🙃🙂", &"lorem ipsum ".repeat(9_000)] {
        let plan = daemon.plan("a", query).await;
        assert!(matches!(plan.result(), PlanResult::NothingFound | PlanResult::Issued | PlanResult::PresentSuffices));
    }
    daemon.stop().await;
}
