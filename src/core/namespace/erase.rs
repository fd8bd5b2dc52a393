//! Erasing what a namespace remembers of a session's words.

use super::super::erasure::Erasure;
use super::Namespace;

impl Namespace {
    /// Replaces a session's words in everything that is remembered, so that the state is the one that the log implies once
    /// [`Erasure::clear`] went through it.
    ///
    /// No event does this: a log that is read again has the new words from the start.
    pub fn erase(&mut self, erasure: &Erasure) {
        if let Some(mut entry) = self.sessions.remove(erasure.session()) {
            entry.session.erase(erasure, &self.registry);
            entry.window.rename(|call| erasure.call(call));
            entry.history.rename(|call| erasure.call(call));
            self.sessions.insert(erasure.pseudonym().clone(), entry);
        }
        for entry in self.sessions.values_mut() {
            entry.session.rename_relative(erasure);
        }
        for id in &mut self.ended {
            erasure.rename(id);
        }
        for health in self.health.values_mut() {
            health.erase(erasure);
        }
    }
}
