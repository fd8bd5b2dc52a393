//! One version of a tool as models are shown it: its name, its directory line, its definition in each form.
//!
//! What is costly to make (renderings, the compiled schema) is made once, when first asked for, and shared by every copy
//! of the registry.

use std::sync::{Arc, OnceLock};

use super::super::admission::alias;
use super::super::admission::confusable::Signature;
use super::super::event::{Admitted, Format};
use super::super::ids::Alias;
use super::super::validation::Validator;
use super::{Form, Rendered, definition, directory, schema};

/// One version of a tool, ready to be shown to a model.
pub struct Shown {
    admitted: Arc<Admitted>,
    alias: Alias,
    line: Rendered,
    forms: [OnceLock<Rendered>; Form::COUNT],
    is_for_anthropic: OnceLock<bool>,
    validator: OnceLock<Option<Validator>>,
    signature: OnceLock<Signature>,
}

impl Shown {
    /// Writes the line; everything else waits until it is asked for.
    pub fn new(admitted: Arc<Admitted>) -> Self {
        let alias = alias(&admitted.definition.id);
        let line = Rendered::measure(directory::line(&alias, &admitted.definition));
        Self {
            admitted,
            alias,
            line,
            forms: Default::default(),
            is_for_anthropic: OnceLock::new(),
            validator: OnceLock::new(),
            signature: OnceLock::new(),
        }
    }

    /// Returns the definition as admitted.
    pub fn admitted(&self) -> &Arc<Admitted> {
        &self.admitted
    }

    /// Returns the name that models see.
    pub fn alias(&self) -> &Alias {
        &self.alias
    }

    /// Returns its directory line, uncut.
    pub fn line(&self) -> &Rendered {
        &self.line
    }

    /// Returns its definition in a form, written at the first call.
    pub fn rendered(&self, form: Form) -> &Rendered {
        self.forms[form.index()]
            .get_or_init(|| Rendered::measure(definition(form, &self.alias, &self.admitted.definition)))
    }

    /// Returns whether a format's provider takes requests that hold its schema.
    pub fn is_renderable(&self, format: Format) -> bool {
        let is_for_anthropic = || schema::is_for_anthropic(self.admitted.definition.input_schema.as_str());
        format != Format::Anthropic || *self.is_for_anthropic.get_or_init(is_for_anthropic)
    }

    /// Returns what of its words is compared with other tools.
    pub fn signature(&self) -> &Signature {
        self.signature.get_or_init(|| Signature::of(&self.admitted.definition))
    }

    /// Tells whether a model may take it and another tool for each other.
    pub fn is_confusable_with(&self, other: &Self) -> bool {
        let are_two = self.admitted.definition.id != other.admitted.definition.id;
        are_two && self.signature().closeness(other.signature()).is_some()
    }

    /// Returns the compiled schema, or `None` where it does not compile, which admission rules out.
    pub fn validator(&self) -> Option<&Validator> {
        self.validator.get_or_init(|| Validator::compile(&self.admitted.definition.input_schema).ok()).as_ref()
    }
}
