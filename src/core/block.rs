//! The frozen block of a session: who is resident, what the directory lists, and the bytes of both.
//!
//! Made once, when a session opens or is refreshed, from the registry and the published pool of that place in the log.
//! Its bytes hold nothing of the session, so sessions that may see the same tools share one block and a provider's
//! cache serves them all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::event::{Block, Piece, Place, Resident, SessionSpec, StepTokens, ToolState};
use super::hot_pool::PublishedPool;
use super::ids::{Alias, Digest, ToolId, Version};
use super::policy::Policy;
use super::registry::{Registry, Tool};
use super::render::{self, CALL_TOOL, Carrier, REQUEST_TOOL, Shown, directory, meta_tools};

/// Why a tool is not in front of a model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Exclusion {
    /// No such tool was ever registered.
    Unknown,
    /// Not among the session's candidates.
    NotInPool,
    /// Its state does not allow it.
    State(ToolState),
    /// Its name is taken by one of the runtime's own tools.
    NameTaken,
    /// The provider of the session's format refuses requests that hold its schema.
    NotRenderable,
}

/// What a session may see at one place in the log.
pub struct Candidates<'a> {
    tools: Vec<(&'a ToolId, &'a Arc<Tool>)>,
    /// What sending every definition would cost.
    pub everything_tokens: u32,
}

impl<'a> Candidates<'a> {
    /// Finds the tools that a session may see and that may be issued, by name and then source.
    pub fn find(registry: &'a Registry, spec: &SessionSpec) -> Self {
        let mut tools = Vec::new();
        let mut everything_tokens = 0u32;
        for (id, tool) in registry.iter() {
            if exclusion_of(tool, spec, id).is_none()
                && let Some(current) = tool.current()
            {
                everything_tokens = everything_tokens.saturating_add(current.admitted().measured_tokens);
                tools.push((id, tool));
            }
        }
        Self { tools, everything_tokens }
    }

    /// Returns whether they are so few that narrowing them saves nothing.
    pub fn are_few(&self, policy: &Policy, window: u32) -> bool {
        let share = f64::from(window) * policy.session.pass_through_share;
        self.tools.len() <= policy.session.pass_through_tools as usize || f64::from(self.everything_tokens) <= share
    }
}

/// Returns why a session may not be given a tool now, or `None` if it may.
pub fn exclusion(registry: &Registry, spec: &SessionSpec, id: &ToolId) -> Option<Exclusion> {
    match registry.get(id) {
        None => Some(Exclusion::Unknown),
        Some(tool) => exclusion_of(tool, spec, id),
    }
}

fn exclusion_of(tool: &Tool, spec: &SessionSpec, id: &ToolId) -> Option<Exclusion> {
    if !spec.pool.admits(id) {
        return Some(Exclusion::NotInPool);
    }
    if !tool.state().is_issuable() {
        return Some(Exclusion::State(tool.state()));
    }
    let Some(current) = tool.current() else { return Some(Exclusion::State(ToolState::Pending)) };
    if is_own(spec, tool.alias()) {
        return Some(Exclusion::NameTaken);
    }
    if !current.is_renderable(spec.format) {
        return Some(Exclusion::NotRenderable);
    }
    None
}

/// Returns whether a name is one of the runtime's own tools.
pub fn is_own(spec: &SessionSpec, name: &Alias) -> bool {
    spec.own_tools.iter().any(|own| &own.name == name)
}

/// Returns whether a name is one of the daemon's meta tools.
pub fn is_meta(name: &str) -> bool {
    name == REQUEST_TOOL || name == CALL_TOOL
}

/// Builds the block that a session with this spec would get now. `keep` are tools that a refreshed session's history
/// still uses: they stay declared whatever their state, because providers refuse references to undeclared tools. What
/// the session may not see at all stays out.
pub fn freeze(
    registry: &Registry,
    pool: &PublishedPool,
    policy: &Policy,
    spec: &SessionSpec,
    keep: &BTreeSet<ToolId>,
) -> Block {
    let candidates = Candidates::find(registry, spec);
    let pass_through = candidates.are_few(policy, spec.window);
    let mut residents = choose_residents(&candidates, pool, policy, spec, pass_through);
    let may_stay = |id: &ToolId| matches!(exclusion(registry, spec, id), None | Some(Exclusion::State(_)));
    residents.extend(keep.iter().filter(|id| may_stay(id)).cloned());

    let mut pieces = Vec::new();
    let mut entries = Vec::new();
    let mut tokens = StepTokens::default();
    for id in &residents {
        let Some(shown) = registry.get(id).and_then(|tool| tool.current()) else { continue };
        let piece = render::block_piece(spec.format, shown, false);
        tokens.resident += piece.tokens;
        entries.push(Resident {
            tool: id.clone(),
            version: shown.admitted().version,
            alias: shown.alias().clone(),
            tokens: piece.tokens,
        });
        pieces.push(piece);
    }
    let (mut members, mut deferred) = (BTreeMap::new(), BTreeMap::new());
    if !pass_through {
        let meta = meta_tools(spec.format, spec.delivery);
        tokens.meta = meta.iter().map(|piece| piece.tokens).sum();
        pieces.extend(meta);
        let listed = in_order_of_preference(&candidates, &residents, pool);
        if Carrier::of_session(spec) == Carrier::Reference {
            let most = policy.session.reference_tools as usize;
            let (declared, definitions) = defer(spec, &listed, &residents, most);
            deferred = declared;
            pieces.extend(definitions);
        }
        let budget = directory_budget(policy, spec.window);
        let directory = directory::directory(&listed, budget, policy.directory.line_tokens, render::asks_by(spec));
        tokens.directory = directory.tokens;
        members = directory.members;
        pieces.push(render::system_piece(spec.format, directory.text, directory.tokens));
    }
    // The last piece: a block with deferred definitions ends with its directory.
    if spec.mark_cache
        && let Some(last) = pieces.last_mut()
    {
        render::mark_cache(spec.format, last);
    }
    Block {
        digest: digest(&pieces),
        epoch: pool.epoch,
        cache_after: pieces.len().saturating_sub(1) as u32,
        pieces,
        residents: entries,
        directory: members,
        deferred,
        pass_through,
        tokens,
    }
}

/// Writes the definitions that stand deferred in a block: of the tools that are not resident those preferred most, at
/// most `most`, ordered by name, so that equal sets are equal bytes.
fn defer(
    spec: &SessionSpec,
    preferred: &[&Shown],
    residents: &BTreeSet<ToolId>,
    most: usize,
) -> (BTreeMap<ToolId, Version>, Vec<Piece>) {
    let id = |shown: &Shown| shown.admitted().definition.id.clone();
    let others = preferred.iter().filter(|shown| !residents.contains(&id(shown)));
    let chosen: BTreeMap<ToolId, &Shown> = others.take(most).map(|shown| (id(shown), *shown)).collect();
    let pieces = chosen.values().map(|shown| render::block_piece(spec.format, shown, true)).collect();
    (chosen.iter().map(|(id, shown)| (id.clone(), shown.admitted().version)).collect(), pieces)
}

/// Returns the tokens that the directory may take of a window.
fn directory_budget(policy: &Policy, window: u32) -> u32 {
    let share = f64::from(window) * policy.directory.share;
    (share as u32).min(policy.directory.max_tokens)
}

/// Chooses the residents: must-haves and pinned tools always, then the hot pool, then the best scores among the
/// candidates until the slots are full. Ordered by name, so that equal sets are equal bytes.
fn choose_residents(
    candidates: &Candidates<'_>,
    pool: &PublishedPool,
    policy: &Policy,
    spec: &SessionSpec,
    pass_through: bool,
) -> BTreeSet<ToolId> {
    let mut residents = BTreeSet::new();
    let mut may_be_resident = BTreeSet::new();
    for (id, tool) in &candidates.tools {
        // A tool on probation is issued, not resident: a second failure would strand it in every open block.
        let is_active = tool.state() == ToolState::Active;
        if pass_through || spec.pool.must_have.contains(*id) || (is_active && tool.is_pinned()) {
            residents.insert((*id).clone());
        }
        if is_active {
            may_be_resident.insert(*id);
        }
    }
    let slots = policy.hot_pool.slots;
    for id in pool.residents(slots, &|id| may_be_resident.contains(id)) {
        if residents.len() >= slots as usize {
            break;
        }
        residents.insert(id);
    }
    residents
}

/// Orders the candidates as the directory prefers them: residents, then by heat as of the epoch, then by name.
fn in_order_of_preference<'a>(
    candidates: &Candidates<'a>,
    residents: &BTreeSet<ToolId>,
    pool: &PublishedPool,
) -> Vec<&'a Shown> {
    let mut listed: Vec<&(&ToolId, &'a Arc<Tool>)> = candidates.tools.iter().collect();
    listed.sort_by_key(|(id, _)| (!residents.contains(*id), std::cmp::Reverse(pool.epoch_heat_key(id))));
    listed.into_iter().filter_map(|(_, tool)| tool.current().map(|shown| &**shown)).collect()
}

/// Hashes places and contents in order.
fn digest(pieces: &[Piece]) -> Digest {
    let place = |place: Place| match place {
        Place::Tools => b"tools".as_slice(),
        Place::System => b"system",
        Place::Messages => b"messages",
        Place::ToolResult => b"tool_result",
    };
    Digest::of_parts(pieces.iter().flat_map(|piece| [place(piece.place), piece.content.as_bytes()]))
}

/// What would change in a block if it were frozen now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PendingChange {
    /// Would become resident.
    Enters(ToolId),
    /// Would no longer be resident.
    Leaves(ToolId),
    /// Would get a line in the directory.
    Added(ToolId),
    /// Would lose its line.
    Removed(ToolId),
    /// Would be shown in a new version.
    NewVersion(ToolId),
    /// Is resident and may not be used now; calls are answered with the reason.
    Unavailable(ToolId, ToolState),
}

/// Compares a frozen block with the one that would be frozen now.
pub fn pending_changes(registry: &Registry, frozen: &Block, now: &Block) -> Vec<PendingChange> {
    let mut changes = Vec::new();
    for resident in &frozen.residents {
        let id = &resident.tool;
        match now.resident_version(id) {
            Some(version) if version != resident.version => changes.push(PendingChange::NewVersion(id.clone())),
            Some(_) => {}
            None => match registry.get(id).map(|tool| tool.state()) {
                Some(state) if !state.is_issuable() => changes.push(PendingChange::Unavailable(id.clone(), state)),
                _ => changes.push(PendingChange::Leaves(id.clone())),
            },
        }
    }
    for resident in &now.residents {
        if frozen.resident_version(&resident.tool).is_none() {
            changes.push(PendingChange::Enters(resident.tool.clone()));
        }
    }
    for id in frozen.directory.keys() {
        if !now.directory.contains_key(id) {
            changes.push(PendingChange::Removed(id.clone()));
        }
    }
    let now_shown = shown_or_deferred(now);
    for (id, version) in shown_or_deferred(frozen) {
        let is_other = now_shown.get(id).is_some_and(|current| *current != version);
        if is_other && frozen.resident_version(id).is_none() {
            changes.push(PendingChange::NewVersion(id.clone()));
        }
    }
    for id in now.directory.keys() {
        if !frozen.directory.contains_key(id) {
            changes.push(PendingChange::Added(id.clone()));
        }
    }
    changes
}

/// Returns the tools that have a line in a block's directory or stand deferred in it, with the version.
fn shown_or_deferred(block: &Block) -> BTreeMap<&ToolId, Version> {
    block.deferred.iter().chain(&block.directory).map(|(id, version)| (id, *version)).collect()
}
