//! What stands in the context of one played session, kept as a runtime that holds the messages would keep it.
//!
//! The daemon is told what is present at each step and believes it; so what is noted here is what gets judged.

use std::collections::BTreeSet;

use crate::proto::{Block, Offer, Piece, Place, Present};

/// The tool definitions in a context, by the names that the model calls them by, and the text that came with them.
#[derive(Debug, Default)]
pub struct Context {
    residents: BTreeSet<String>,
    on_demand: BTreeSet<String>,
    reply_tokens: u64,
}

impl Context {
    /// Starts a context with a session's block in it.
    pub fn with_block(block: &Block) -> Self {
        let tools = block.offers.iter().filter(|offer| offer.tool.is_some());
        Self { residents: tools.map(|offer| offer.name.clone()).collect(), ..Self::default() }
    }

    /// Places the pieces of an answer. What they cost beyond the definitions that they carry (the tool result's own
    /// words) is kept, since it stays in the context too.
    pub fn place(&mut self, pieces: &[Piece], carried: &[Offer]) {
        for piece in pieces {
            self.on_demand.extend(piece.names.iter().cloned());
        }
        let results = pieces.iter().filter(|piece| piece.place() == Place::ToolResult);
        let result_tokens: u64 = results.map(|piece| u64::from(piece.tokens)).sum();
        let carried_tokens: u64 = carried.iter().map(|offer| u64::from(offer.tokens)).sum();
        self.reply_tokens += result_tokens.saturating_sub(carried_tokens);
    }

    /// Returns whether a definition came with the block, so that the tool is called by its own name.
    pub fn is_resident(&self, name: &str) -> bool {
        self.residents.contains(name)
    }

    /// Returns whether a definition stands in the context at all.
    pub fn holds(&self, name: &str) -> bool {
        self.is_resident(name) || self.on_demand.contains(name)
    }

    /// Returns the on-demand definitions, as a step is told them.
    pub fn present(&self) -> Present {
        Present { names: self.on_demand.iter().cloned().collect() }
    }

    /// Returns the tokens of tool results that carry no definition.
    pub fn reply_tokens(&self) -> u64 {
        self.reply_tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::ToolRef;

    fn piece(place: Place, tokens: u32, names: &[&str]) -> Piece {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Piece { place: place.into(), tokens, names, ..Piece::default() }
    }

    fn offer(name: &str, tokens: u32, tool: Option<ToolRef>) -> Offer {
        Offer { name: name.to_owned(), tokens, tool, ..Offer::default() }
    }

    #[test]
    fn residents_are_held_and_never_listed_as_present() {
        let offers = vec![offer("request_tool", 90, None), offer("git__log", 200, Some(ToolRef::default()))];
        let context = Context::with_block(&Block { offers, ..Block::default() });
        assert!(context.holds("git__log") && context.is_resident("git__log"));
        assert!(!context.holds("request_tool"), "meta tools are no tools of the traffic");
        assert!(context.present().names.is_empty());
    }

    #[test]
    fn every_name_that_a_piece_makes_callable_is_present_once() {
        let mut context = Context::default();
        context.place(&[piece(Place::Messages, 300, &["b", "a"])], &[]);
        context.place(&[piece(Place::Messages, 100, &["a"])], &[]);
        assert_eq!(context.present().names, ["a", "b"]);
        assert!(context.holds("a") && !context.is_resident("a"));
        assert_eq!(context.reply_tokens(), 0, "messages hold definitions only");
    }

    #[test]
    fn words_of_a_tool_result_are_counted_beside_the_definitions_it_carries() {
        let mut context = Context::default();
        context.place(&[piece(Place::ToolResult, 130, &["a"])], &[offer("a", 110, None)]);
        context.place(&[piece(Place::ToolResult, 25, &[])], &[]);
        assert_eq!(context.reply_tokens(), 45);
    }
}
