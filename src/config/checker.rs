//! Takes each value from the strongest layer that has it, checks it, and keeps what it found.
//!
//! A value that is refused is replaced by its default, so that one run finds everything that is wrong; the result is
//! thrown away then.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::RawConfig;
use crate::core::event::Word;

/// Who said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line.
    Flag,
    /// An environment variable.
    Environment,
    /// The configuration file.
    File,
    /// Nobody.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Default => "default",
        })
    }
}

/// A value in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Dotted name, as in the file.
    pub name: &'static str,
    /// The value, as a file would say it.
    pub value: String,
    /// Who said so.
    pub origin: Origin,
}

/// A value that was refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The value and who said it.
    pub setting: Setting,
    /// What would be accepted.
    pub accepts: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { name, value, origin } = &self.setting;
        write!(f, "{name} = {value}: {} (from {origin})", self.accepts)
    }
}

pub(super) struct Checker<'a> {
    layers: &'a [(Origin, RawConfig)],
    settings: Vec<Setting>,
    problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    /// Starts with the layers, the strongest first.
    pub(super) fn new(layers: &'a [(Origin, RawConfig)]) -> Self {
        Self { layers, settings: Vec::new(), problems: Vec::new() }
    }

    /// Reads an address that only this machine can reach.
    pub(super) fn loopback(
        &mut self,
        name: &'static str,
        get: impl Fn(&RawConfig) -> Option<String>,
        default: SocketAddr,
    ) -> SocketAddr {
        self.text(name, get, default, SocketAddr::to_string, |text| match text.parse::<SocketAddr>() {
            Err(_) => Err("must be an address and a port such as 127.0.0.1:7117".to_owned()),
            Ok(address) if !address.ip().is_loopback() => Err("must be a loopback address; anything else needs TLS \
                                                               and tokens, which this version does not have"
                .to_owned()),
            Ok(address) => Ok(address),
        })
    }

    /// Reads the path of a file.
    pub(super) fn path(
        &mut self,
        name: &'static str,
        get: impl Fn(&RawConfig) -> Option<String>,
        default: PathBuf,
    ) -> PathBuf {
        self.text(
            name,
            get,
            default,
            |path| path.display().to_string(),
            |text| {
                if text.is_empty() || text.ends_with('/') || text.starts_with(':') {
                    return Err("must be the path of a file".to_owned());
                }
                Ok(PathBuf::from(text))
            },
        )
    }

    /// Reads one word of a list.
    pub(super) fn word<W: Word>(
        &mut self,
        name: &'static str,
        get: impl Fn(&RawConfig) -> Option<String>,
        default: W,
    ) -> W {
        self.text(
            name,
            get,
            default,
            |word| word.as_str().to_owned(),
            |text| {
                W::parse(text).ok_or_else(|| {
                    let words: Vec<&str> = W::ALL.iter().map(|word| word.as_str()).collect();
                    format!("must be {}", words.join(" | "))
                })
            },
        )
    }

    /// Reads a yes or no.
    pub(super) fn switch(
        &mut self,
        name: &'static str,
        get: impl Fn(&RawConfig) -> Option<bool>,
        default: bool,
    ) -> bool {
        let (value, origin) = self.strongest(get).unwrap_or((default, Origin::Default));
        self.settings.push(Setting { name, value: value.to_string(), origin });
        value
    }

    /// Reads a whole number within a range.
    pub(super) fn number<N>(
        &mut self,
        name: &'static str,
        get: impl Fn(&RawConfig) -> Option<i64>,
        range: RangeInclusive<i64>,
        default: N,
    ) -> N
    where
        N: TryFrom<i64> + fmt::Display,
    {
        let Some((value, origin)) = self.strongest(get) else {
            self.settings.push(Setting { name, value: default.to_string(), origin: Origin::Default });
            return default;
        };
        let setting = Setting { name, value: value.to_string(), origin };
        self.settings.push(setting.clone());
        match N::try_from(value) {
            Ok(number) if range.contains(&value) => number,
            _ => {
                let accepts = format!("must be {}..={}", range.start(), range.end());
                self.problems.push(Problem { setting, accepts });
                default
            }
        }
    }

    /// Refuses the value in force of a setting that was read already, unless it was refused for itself.
    pub(super) fn refuse(&mut self, name: &'static str, accepts: &str) {
        let is_refused = self.problems.iter().any(|problem| problem.setting.name == name);
        let setting = self.settings.iter().find(|setting| setting.name == name);
        if let (false, Some(setting)) = (is_refused, setting) {
            self.problems.push(Problem { setting: setting.clone(), accepts: accepts.to_owned() });
        }
    }

    /// Returns every setting and everything that is wrong, in the order they were read.
    pub(super) fn finish(self) -> (Vec<Setting>, Vec<Problem>) {
        (self.settings, self.problems)
    }

    fn strongest<T>(&self, get: impl Fn(&RawConfig) -> Option<T>) -> Option<(T, Origin)> {
        self.layers.iter().find_map(|(origin, raw)| get(raw).map(|value| (value, *origin)))
    }

    fn text<T>(
        &mut self,
        name: &'static str,
        get: impl Fn(&RawConfig) -> Option<String>,
        default: T,
        print: impl Fn(&T) -> String,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> T {
        let Some((text, origin)) = self.strongest(get) else {
            self.settings.push(Setting { name, value: format!("{:?}", print(&default)), origin: Origin::Default });
            return default;
        };
        let setting = Setting { name, value: format!("{text:?}"), origin };
        self.settings.push(setting.clone());
        parse(&text).unwrap_or_else(|accepts| {
            self.problems.push(Problem { setting, accepts });
            default
        })
    }
}
