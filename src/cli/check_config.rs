//! `check-config`: what the daemon would run with, and who said so.

use std::path::PathBuf;

use serde_json::json;

use super::output::{Column, table};
use super::{DONE, Shell};
use crate::config::{self, Config, ConfigError, RawConfig, RawServer, RawStore, Setting};

/// Show what the daemon would run with, and where each value comes from
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib check-config --config toolcrib.toml")]
pub(super) struct Args {
    #[command(flatten)]
    settings: Settings,
}

/// Settings of the daemon that flags can give. Flags win over the environment, the environment over the file.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Settings {
    /// Where gRPC answers; loopback only [env: TOOLCRIB_LISTEN] [default: 127.0.0.1:7117]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Where /metrics answers; loopback only [env: TOOLCRIB_METRICS] [default: 127.0.0.1:9117]
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// The database file, made if it is not there [env: TOOLCRIB_DB] [default: toolcrib.db]
    #[arg(long, value_name = "FILE")]
    db: Option<String>,
    /// A configuration file, TOML
    #[arg(long, value_name = "FILE", env = "TOOLCRIB_CONFIG")]
    config: Option<PathBuf>,
}

impl Settings {
    /// Puts the flags over the environment over the file, and checks the result.
    pub(super) fn load(&self) -> Result<(Config, Vec<Setting>), ConfigError> {
        self.load_with(|name| std::env::var(name).ok())
    }

    fn load_with(&self, variable: impl Fn(&str) -> Option<String>) -> Result<(Config, Vec<Setting>), ConfigError> {
        let flags = RawConfig {
            server: RawServer { listen: self.listen.clone(), metrics: self.metrics.clone(), reflection: None },
            store: RawStore { path: self.db.clone() },
            ..RawConfig::default()
        };
        config::load(flags, variable, self.config.as_deref())
    }
}

/// Prints every setting with its origin; a refused one fails the command.
pub(super) fn run(args: &Args, shell: &Shell) -> anyhow::Result<u8> {
    let (_, settings) = args.settings.load()?;
    let mut rows = Vec::new();
    let mut values = Vec::new();
    for Setting { name, value, origin } in &settings {
        values.push(json!({ "name": name, "value": value, "origin": origin.to_string() }));
        rows.push(vec![(*name).to_owned(), value.clone(), origin.to_string()]);
    }
    let columns = [Column::Left("setting"), Column::Left("value"), Column::Left("origin")];
    shell.print(&json!({ "settings": values }), &table(&columns, rows, "no settings"))?;
    Ok(DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_wins_over_the_environment() {
        let settings = Settings { listen: Some("127.0.0.1:1".to_owned()), ..Settings::default() };
        let (config, _) = settings
            .load_with(|name| match name {
                "TOOLCRIB_LISTEN" => Some("127.0.0.1:2".to_owned()),
                "TOOLCRIB_DB" => Some("other.db".to_owned()),
                _ => None,
            })
            .expect("a configuration");
        assert_eq!(config.server.listen.port(), 1);
        assert_eq!(config.store.path, PathBuf::from("other.db"));
    }

    #[test]
    fn address_beyond_loopback_is_refused() {
        let settings = Settings { listen: Some("0.0.0.0:7117".to_owned()), ..Settings::default() };
        let refused = settings.load_with(|_| None).expect_err("a refusal").to_string();
        assert!(refused.starts_with("server.listen = \"0.0.0.0:7117\": must be a loopback address"), "{refused}");
    }
}
