//! `apply`: makes a namespace hold what a directory says.
//!
//! The directory is the whole of it: every tool of the sources it names, and the policy where it has one. Everything is
//! looked at before the first change, in a dry run at the daemon under the policy to be; then the policy is set, since
//! tools are judged by it, and the tools follow in one import, all or none.

mod files;
mod policy;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::bail;
use bytes::Bytes;
use serde_json::{Value, json};
use tonic::Code;

use super::import_report::{self, Show};
use super::output::{count, one_line};
use super::remote::{Remote, new_request_id};
use super::{DONE, FAILED, Shell, import, json, tool};
use crate::proto::{
    AdmissionResult, CatalogShape, GetPolicyRequest, ImportTarget, ImportToolsResponse, ListToolsRequest, PolicyValue,
    SetPolicyRequest, ToolState,
};
use files::{Gathered, Place, Refusal};
use policy::Change;

/// Make a namespace hold the catalog and the policy of a directory, as kept in git
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib apply -f examples/catalog --dry-run\n\n\
    Every *.json, *.jsonl and *.ndjson below DIR is a catalog file, as `toolcrib import` takes it; DIR/policy.toml is the \
    whole\npolicy, and what it leaves out goes back to its default. Nothing changes where anything is refused.")]
pub(super) struct Args {
    /// The directory
    #[arg(short = 'f', long = "from", value_name = "DIR")]
    dir: PathBuf,
    /// Say what would happen, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Withdraw the tools of sources that are not in the directory
    #[arg(long)]
    prune: bool,
    /// Show everything that is new, changed, refused or flagged
    #[arg(long, short)]
    verbose: bool,
}

/// What is said where the policy was taken and the tools were not.
const HALF_DONE: &str = "the policy is as in the directory, the tools are not";

/// What is said where the policy was taken, and what became of the tools is not known.
const PERHAPS_HALF_DONE: &str = "the policy is as in the directory, the tools may not be: apply it again";

/// What a directory comes to in a namespace.
struct Plan {
    gathered: Gathered,
    policy: Vec<Change>,
    policy_version: u64,
    /// Sources of the namespace that the directory has not, with how many tools they have.
    others: BTreeMap<String, u64>,
    /// What the daemon says of the tools; `None` where there are none to be spoken of.
    tools: Option<ImportToolsResponse>,
}

/// Applies the directory. Fails when anything is refused.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    if !args.dir.is_dir() {
        bail!("{} is no directory; `toolcrib import` takes single files", args.dir.display());
    }
    let gathered = files::gather(&args.dir)?;
    let wanted = policy::read(&args.dir)?;
    if gathered.n_files == 0 && wanted.is_none() {
        bail!("{} holds neither catalog files nor a {}", args.dir.display(), policy::FILE);
    }
    if gathered.n_files == 0 && args.prune {
        bail!("--prune would withdraw every tool, since {} holds no catalog files", args.dir.display());
    }
    let remote = shell.connect().await?;
    let mut plan = look(gathered, wanted, &args, &remote).await?;
    if plan.is_refused() || args.dry_run || !plan.changes() {
        return plan.report(&args, shell);
    }
    if !plan.policy.is_empty() {
        set_policy(&plan, &remote).await?;
    }
    if plan.tools.as_ref().is_some_and(import_report::changes) {
        let target = plan.target(&args, &remote);
        let sent = import::send(target, Bytes::from(plan.gathered.lines.clone()), &remote).await;
        let is_policy_set = !plan.policy.is_empty();
        let answer = match sent {
            Err(status) if is_policy_set => return Err(anyhow::Error::from(status).context(PERHAPS_HALF_DONE)),
            sent => sent?,
        };
        if answer.turned_away {
            // Somebody else changed the namespace since the dry run.
            let done = if is_policy_set { HALF_DONE } else { "nothing was changed" };
            bail!("{done}: tools were refused, though not a moment ago; try again");
        }
        plan.tools = Some(answer);
    }
    plan.report(&args, shell)
}

/// Finds out what would change, without changing anything.
async fn look(
    gathered: Gathered,
    wanted: Option<BTreeMap<String, String>>,
    args: &Args,
    remote: &Remote,
) -> anyhow::Result<Plan> {
    let (now, policy_version) = policy_in_force(remote).await?;
    let policy = wanted.as_ref().map_or_else(Vec::new, |wanted| policy::changes(wanted, &now));
    let others = other_sources(&gathered, remote).await?;
    let mut plan = Plan { gathered, policy, policy_version, others, tools: None };
    let target = ImportTarget { dry_run: true, policy: policy::assignments(&plan.policy), ..plan.target(args, remote) };
    if !plan.gathered.lines.is_empty() || !target.gone_sources.is_empty() {
        plan.tools = Some(import::send(target, Bytes::from(plan.gathered.lines.clone()), remote).await?);
    }
    Ok(plan)
}

/// Returns the policy and its version; that of a new namespace where there is none of that name.
async fn policy_in_force(remote: &Remote) -> anyhow::Result<(Vec<PolicyValue>, u64)> {
    let request = GetPolicyRequest { namespace: remote.namespace.clone() };
    match remote.policies().get_policy(request).await {
        Ok(answer) => {
            let policy = answer.into_inner();
            Ok((policy.values, policy.version))
        }
        Err(status) if status.code() == Code::NotFound => Ok((policy::defaults(), 0)),
        Err(status) => Err(status.into()),
    }
}

/// Returns the sources that have tools which could be withdrawn, and that the directory has not.
async fn other_sources(gathered: &Gathered, remote: &Remote) -> anyhow::Result<BTreeMap<String, u64>> {
    let states = [ToolState::Active, ToolState::Quarantined, ToolState::Probation, ToolState::Held, ToolState::Pending];
    let request = ListToolsRequest { states: states.map(i32::from).to_vec(), ..ListToolsRequest::default() };
    let listed = match tool::list_all(remote, request, None).await {
        Ok(listed) => listed.tools,
        Err(status) if status.code() == Code::NotFound => Vec::new(),
        Err(status) => return Err(status.into()),
    };
    // A source of which nothing could be read is in the directory all the same.
    let unread = gathered.refused.iter().filter_map(|refusal| refusal.tool.as_ref()).map(|tool| &*tool.source);
    let known: Vec<&str> = gathered.sources.iter().map(|source| &**source).chain(unread).collect();
    let mut others = BTreeMap::new();
    for tool in listed.into_iter().filter_map(|record| record.tool) {
        if !known.contains(&tool.source.as_str()) {
            *others.entry(tool.source).or_default() += 1;
        }
    }
    Ok(others)
}

async fn set_policy(plan: &Plan, remote: &Remote) -> anyhow::Result<()> {
    let request = SetPolicyRequest {
        namespace: remote.namespace.clone(),
        values: policy::assignments(&plan.policy),
        expected_version: plan.policy_version,
        request_id: new_request_id(),
    };
    remote.policies().set_policy(request).await?;
    Ok(())
}

impl Plan {
    fn target(&self, args: &Args, remote: &Remote) -> ImportTarget {
        let gone_sources = if args.prune { self.others.keys().cloned().collect() } else { Vec::new() };
        ImportTarget {
            namespace: remote.namespace.clone(),
            shape: CatalogShape::Jsonl.into(),
            file_name: args.dir.display().to_string(),
            request_id: new_request_id(),
            atomic: true,
            gone_sources,
            ..ImportTarget::default()
        }
    }

    fn is_refused(&self) -> bool {
        !self.gathered.refused.is_empty() || self.tools.as_ref().is_some_and(|answer| answer.turned_away)
    }

    fn changes(&self) -> bool {
        !self.policy.is_empty() || self.tools.as_ref().is_some_and(import_report::changes)
    }

    fn report(&self, args: &Args, shell: &Shell) -> anyhow::Result<u8> {
        shell.print(&self.to_json(args), &self.describe(args))?;
        Ok(if self.is_refused() { FAILED } else { DONE })
    }

    fn place(&self, index: u32) -> Option<&Place> {
        self.gathered.places.get(usize::try_from(index).ok()?)
    }

    /// Returns everything that is refused: what could not be read, then what the gate does not take.
    fn refusals(&self) -> Vec<Refusal> {
        let mut refusals = self.gathered.refused.clone();
        for admission in self.tools.iter().flat_map(|answer| &answer.admissions) {
            if admission.result() != AdmissionResult::Refused {
                continue;
            }
            let Some(place) = self.place(admission.index) else { continue };
            for violation in &admission.violations {
                let tool = json::tool_name(admission.tool.as_ref()).parse().ok();
                let reason = format!("{}; {}", violation.description, violation.accepted);
                let (file, index) = (place.file.clone(), Some(place.index));
                refusals.push(Refusal { file, index, tool, field: violation.field.clone(), reason });
            }
        }
        refusals
    }

    fn to_json(&self, args: &Args) -> Value {
        let refused = |refusal: &Refusal| {
            json!({
                "file": refusal.file,
                "index": refusal.index,
                "tool": refusal.tool.as_ref().map(ToString::to_string),
                "field": refusal.field,
                "reason": refusal.reason,
            })
        };
        let changed = |change: &Change| json!({ "key": change.key, "old": change.old, "new": change.new });
        json!({
            "files": self.gathered.n_files,
            "dry_run": args.dry_run,
            "changes": !self.is_refused() && self.changes(),
            "refused": json::list(&self.refusals(), refused),
            "tools": self.tools.as_ref().map(|answer| import_report::to_json(answer, args.dry_run)),
            "policy": json::list(&self.policy, changed),
            "other_sources": self.others,
            "pruned": args.prune,
            "left_aside": self.gathered.left_aside,
        })
    }

    fn describe(&self, args: &Args) -> String {
        let mut text = String::new();
        for aside in &self.gathered.left_aside {
            text.push_str(&format!("passed over: {}\n", one_line(aside)));
        }
        if self.is_refused() {
            for Refusal { file, index, tool, field, reason } in self.refusals() {
                let place = index.map_or_else(String::new, |index| format!(" #{index}"));
                let tool = tool.map_or_else(String::new, |tool| format!(" {tool}"));
                let field = if field.is_empty() { field } else { format!("{field}: ") };
                text.push_str(&one_line(&format!("! {file}{place}{tool}: {field}{reason}")));
                text.push('\n');
            }
            text.push_str("nothing was changed: one refusal keeps everything out\n");
            return text;
        }
        if !args.prune && !self.others.is_empty() {
            let n_tools: u64 = self.others.values().sum();
            let names: Vec<String> = self.others.keys().cloned().collect();
            let named = import_report::shortened(&names);
            text.push_str(&format!(
                "not in the directory: {named} ({} tools); --prune withdraws them\n",
                count(n_tools)
            ));
        }
        if !self.changes() {
            let n_tools = count(self.gathered.places.len());
            let n_sources = count(self.gathered.sources.len());
            text.push_str(&format!("nothing to do: {n_tools} tools of {n_sources} sources are as in the directory\n"));
            return text;
        }
        for Change { key, old, new, .. } in &self.policy {
            text.push_str(&format!("policy: {key} {old} -> {new}\n"));
        }
        if let Some(answer) = &self.tools {
            let place = |index| self.place(index).map_or_else(String::new, |p| format!("{} #{}", p.file, p.index));
            // Said once, at the end.
            let show = Show { is_verbose: args.verbose, is_dry_run: false, place: &place };
            text.push_str(&format!("tools: {}", import_report::describe(answer, &show)));
        }
        if args.dry_run {
            text.push_str("nothing was done: this is a dry run\n");
        }
        text
    }
}
