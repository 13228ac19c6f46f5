//! Changes to several hosts: planned first, then applied one by one.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Out, Selection, WriteOptions};
use crate::{Change, Env, Error, Host, Scope, change};

/// A planned change for one host.
pub(super) struct Planned<'a> {
    pub(super) host: &'a Host,
    pub(super) scope: Scope,
    pub(super) change: Change,
    /// `added …`, `removed …`.
    pub(super) what: String,
    pub(super) notes: Vec<String>,
    /// What the user has to do in the host afterwards.
    pub(super) next: Option<&'a str>,
    /// Plans the change again from the current content of the file.
    pub(super) again: Box<dyn Fn() -> Result<Planned<'a>, Error> + 'a>,
}

impl AsRef<Change> for Planned<'_> {
    fn as_ref(&self) -> &Change {
        &self.change
    }
}

impl Planned<'_> {
    fn apply(self, env: &Env) -> Result<(Self, Option<PathBuf>), Error> {
        change::settle(env, self, |plan| (plan.again)())
    }
}

/// The plans for all hosts, and the hosts that cannot be changed.
pub(super) struct Plans<'a> {
    planned: Vec<Planned<'a>>,
    failed: Vec<(&'a Host, Error)>,
    /// Hosts that read a file which is already changed for another host.
    sharing: Vec<(PathBuf, Scope, &'a Host)>,
    /// Whether hosts were selected by `--all`: then they are changed independently of each other.
    each_by_itself: bool,
}

impl<'a> Plans<'a> {
    pub(super) fn new(selection: &Selection) -> Self {
        Self { planned: Vec::new(), failed: Vec::new(), sharing: Vec::new(), each_by_itself: selection.all }
    }

    /// Adds a plan. Hosts that share a file share its change.
    ///
    /// # Errors
    /// If the change cannot be planned and the host was named: then no host is changed.
    pub(super) fn push(&mut self, host: &'a Host, plan: Result<Planned<'a>, Error>) -> Result<(), Error> {
        let plan = match plan.and_then(|plan| plan.change.check().map(|()| plan)) {
            Ok(plan) => plan,
            Err(error) if self.each_by_itself => {
                self.failed.push((host, error));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let is_same = |other: &Planned<'_>| other.change.path() == plan.change.path() && other.scope == plan.scope;
        match self.planned.iter().any(is_same) {
            true => self.sharing.push((plan.change.path().to_owned(), plan.scope, host)),
            false => self.planned.push(plan),
        }
        Ok(())
    }

    /// Whether no host is to be changed.
    pub(super) fn is_empty(&self) -> bool {
        self.planned.is_empty() && self.failed.is_empty()
    }

    /// Applies all changes, or shows them, and reports the outcome of each. A failure does not stop the others.
    ///
    /// # Errors
    /// If at least one of them failed.
    pub(super) fn carry_out(
        self,
        env: &Env,
        options: &WriteOptions,
        json: bool,
        out: &mut Out<'_>,
    ) -> Result<(), Error> {
        let Self { planned, mut failed, sharing, .. } = self;
        let (total, mut rows) = (planned.len() + failed.len(), Vec::new());
        for plan in planned {
            let host = plan.host;
            let made = if options.dry_run { Ok((plan, None)) } else { plan.apply(env) };
            let (mut plan, backup) = match made {
                Ok(made) => made,
                Err(error) => {
                    failed.push((host, error));
                    continue;
                }
            };
            let is_same = |path: &Path, scope: Scope| path == plan.change.path() && scope == plan.scope;
            let sharing = sharing.iter().filter(|(path, scope, _)| is_same(path, *scope));
            plan.notes.extend(sharing.map(|(_, _, host)| format!("{} reads the same file", host.name())));
            match json {
                true => rows.push(described(&plan, options, backup.as_deref())),
                false => tell(&plan, env, options, backup.as_deref(), out)?,
            }
        }
        // The only failure of a single host is the returned error.
        if total > 1 {
            for (host, error) in &failed {
                match json {
                    true => rows.push(undone(host, error, options)),
                    false => tell_failure(host, error, out)?,
                }
            }
        }
        if json && !rows.is_empty() {
            out.json(&rows.into())?;
        }
        verdict(failed, total)
    }
}

fn tell(
    plan: &Planned<'_>,
    env: &Env,
    options: &WriteOptions,
    backup: Option<&Path>,
    out: &mut Out<'_>,
) -> Result<(), Error> {
    let (file, host) = (env.display_path(plan.change.path()), plan.host.name());
    match (plan.change.is_noop(), options.dry_run) {
        (true, _) => out.line(format_args!("{host}: nothing to do, {file} has it already"))?,
        (false, true) => out.text(&plan.change.diff())?,
        (false, false) => out.line(format_args!("{host}: {}, {file}", plan.what))?,
    }
    for note in &plan.notes {
        out.line(format_args!("  note: {note}"))?;
    }
    if let Some(backup) = backup {
        out.line(format_args!("  before: {}", env.display_path(backup)))?;
    }
    if let Some(next) = plan.next.filter(|_| !options.dry_run && !plan.change.is_noop()) {
        out.line(format_args!("  next: {next}"))?;
    }
    Ok(())
}

fn tell_failure(host: &Host, error: &Error, out: &mut Out<'_>) -> Result<(), Error> {
    out.line(format_args!("{}: not changed: {error}", host.name()))?;
    match error.hint() {
        Some(hint) => out.line(format_args!("  do: {hint}")),
        None => Ok(()),
    }
}

fn described(plan: &Planned<'_>, options: &WriteOptions, backup: Option<&Path>) -> Value {
    json!({
        "host": plan.host.id(),
        "scope": plan.scope.to_string(),
        "path": plan.change.path(),
        "changed": !plan.change.is_noop(),
        "dryRun": options.dry_run,
        "diff": plan.change.diff(),
        "backup": backup,
        "notes": plan.notes,
    })
}

fn undone(host: &Host, error: &Error, options: &WriteOptions) -> Value {
    json!({
        "host": host.id(),
        "changed": false,
        "dryRun": options.dry_run,
        "error": error.to_string(),
        "hint": error.hint(),
    })
}

fn verdict(failed: Vec<(&Host, Error)>, total: usize) -> Result<(), Error> {
    let count = failed.len();
    match failed.into_iter().next() {
        None => Ok(()),
        Some((_, error)) if total == 1 => Err(error),
        Some((_, error)) => Err(Error::new(error.kind(), format!("{count} of {total} hosts could not be changed"))
            .with_hint("their files were not modified")),
    }
}
