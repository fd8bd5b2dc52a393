//! Blocks, offers, pieces and token counts, as `session`, `plan` and `request` show them.

use std::fmt::Write as _;

use super::super::output::{Column, count, facts, percent, ratio, table, word};
use crate::proto::{Block, Exclusion, Offer, PendingChange, Piece, Tokens};

/// Writes a block in short: what it is, what it costs, what can be called from it.
pub(in crate::cli) fn describe(block: &Block) -> String {
    let rest = if block.pass_through { "every candidate is resident, nothing is left to issue" } else { "" };
    let mut text = facts(&[
        ("block", block.digest.clone()),
        ("generation", block.generation.to_string()),
        ("epoch", block.epoch.to_string()),
        ("size", format!("{} bytes", count(block.size_bytes))),
        ("tokens", block.tokens.as_ref().map(describe_tokens).unwrap_or_default()),
        ("pass-through", rest.to_owned()),
    ]);
    text.push('\n');
    text.push_str(&describe_offers(&block.offers));
    text
}

/// Writes tools that the model can call.
pub(in crate::cli) fn describe_offers(offers: &[Offer]) -> String {
    let rows = offers.iter().map(|offer| {
        vec![
            offer.name.clone(),
            word(offer.origin().as_str_name(), "ORIGIN_"),
            count(offer.tokens),
            if offer.score > 0.0 { format!("{:.3}", offer.score) } else { String::new() },
            offer.reason.clone(),
        ]
    });
    let columns = [
        Column::Left("name"),
        Column::Left("origin"),
        Column::Right("tokens"),
        Column::Right("score"),
        Column::Left("reason"),
    ];
    table(&columns, rows.collect(), "no tools")
}

/// Writes the tokens of one request, with their share of the window and of everything where these are known.
pub(in crate::cli) fn describe_tokens(tokens: &Tokens) -> String {
    let parts = [tokens.directory, tokens.resident, tokens.issued, tokens.meta];
    let sum: u64 = parts.into_iter().map(u64::from).sum();
    let mut text = format!(
        "{} = directory {} + resident {} + issued {} + meta {} ({})",
        count(sum),
        count(tokens.directory),
        count(tokens.resident),
        count(tokens.issued),
        count(tokens.meta),
        tokens.tokenizer,
    );
    if let Some(share) = ratio(sum, tokens.window.into()) {
        let _ = write!(text, "; {} of the window of {}", percent(Some(share)), count(tokens.window));
    }
    if tokens.everything > 0 {
        let _ = write!(text, "; everything would be {}", count(tokens.everything));
    }
    text
}

/// Writes pieces as a runtime would place them.
pub(in crate::cli) fn describe_pieces(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for piece in pieces {
        let place = word(piece.place().as_str_name(), "PLACE_");
        let content = String::from_utf8_lossy(&piece.content);
        let cost = if piece.deferred { "deferred".to_owned() } else { format!("{} tokens", count(piece.tokens)) };
        let _ = write!(text, "\n--- {place}, {cost}\n{}\n", content.trim_end());
    }
    text
}

/// Writes tools that were left out, each with the reason.
pub(in crate::cli) fn describe_exclusions(exclusions: &[Exclusion]) -> String {
    let one = |exclusion: &Exclusion| format!("{} ({})", exclusion.name, exclusion.detail);
    exclusions.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Writes changes that wait for a refresh, or that one brought.
pub(super) fn describe_changes(changes: &[PendingChange]) -> String {
    let mut rows = Vec::new();
    for change in changes {
        let kind = word(change.kind().as_str_name(), "CHANGE_KIND_");
        rows.push(vec![change.name.clone(), kind, change.detail.clone()]);
    }
    table(&["name", "change", "detail"].map(Column::Left), rows, "no changes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_add_up_and_show_their_share() {
        let tokens = Tokens {
            directory: 1_000,
            resident: 2_000,
            issued: 900,
            meta: 100,
            everything: 26_000,
            window: 200_000,
            tokenizer: "o200k_base".to_owned(),
        };
        assert_eq!(
            describe_tokens(&tokens),
            "4,000 = directory 1,000 + resident 2,000 + issued 900 + meta 100 (o200k_base); 2.0 % of the window of \
             200,000; everything would be 26,000"
        );
    }
}
