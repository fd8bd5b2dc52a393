//! One metric name with its kind and help, and how its series are registered.

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusRecorder};

use crate::core::event::Word;
use crate::core::figures::Tally;

const METADATA: Metadata = Metadata::new("toolcrib", Level::INFO, None);

/// What a metric is.
pub(super) enum Kind {
    Counter,
    Gauge,
    /// With the upper bounds of its buckets; a histogram without bounds would be exported as a summary.
    Histogram(&'static [f64]),
}

/// One metric name. Its unit is the name's last word before `_total`.
pub(super) struct Family {
    pub(super) name: &'static str,
    kind: Kind,
    pub(super) help: &'static str,
}

/// The labels of one series.
pub(super) type Labels<'a> = &'a [(&'static str, &'a str)];

impl Family {
    pub(super) const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: Kind::Counter, help }
    }

    pub(super) const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, kind: Kind::Gauge, help }
    }

    pub(super) const fn histogram(name: &'static str, buckets: &'static [f64], help: &'static str) -> Self {
        Self { name, kind: Kind::Histogram(buckets), help }
    }

    /// Adds the buckets, where there are any, to a recorder that is being built.
    pub(super) fn set_buckets(&self, builder: PrometheusBuilder) -> PrometheusBuilder {
        match self.kind {
            Kind::Histogram(buckets) => builder
                .set_buckets_for_metric(Matcher::Full(self.name.to_owned()), buckets)
                .expect("a histogram of the list has no buckets"),
            Kind::Counter | Kind::Gauge => builder,
        }
    }

    pub(super) fn describe(&self, recorder: &PrometheusRecorder) {
        match self.kind {
            Kind::Counter => recorder.describe_counter(self.name.into(), None, self.help.into()),
            Kind::Gauge => recorder.describe_gauge(self.name.into(), None, self.help.into()),
            Kind::Histogram(_) => recorder.describe_histogram(self.name.into(), None, self.help.into()),
        }
    }

    /// Registers a counter, which is exported at zero from then on.
    pub(super) fn count(&self, recorder: &PrometheusRecorder, labels: Labels<'_>) -> Counter {
        recorder.register_counter(&self.key(labels), &METADATA)
    }

    /// Registers a gauge.
    pub(super) fn level(&self, recorder: &PrometheusRecorder, labels: Labels<'_>) -> Gauge {
        recorder.register_gauge(&self.key(labels), &METADATA)
    }

    /// Registers a histogram.
    pub(super) fn spread(&self, recorder: &PrometheusRecorder, labels: Labels<'_>) -> Histogram {
        recorder.register_histogram(&self.key(labels), &METADATA)
    }

    fn key(&self, labels: Labels<'_>) -> Key {
        let labels: Vec<Label> = labels.iter().map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
        Key::from_parts(self.name, labels)
    }
}

/// One counter for each word of a list, told apart by one label.
pub(super) struct Counters<W>(Vec<(W, Counter)>);

impl<W: Word + Ord> Counters<W> {
    /// Registers all of them; `rest` is the labels that they share.
    pub(super) fn new(recorder: &PrometheusRecorder, family: &Family, rest: Labels<'_>, label: &'static str) -> Self {
        let count = |word: W| family.count(recorder, &[rest, &[(label, word.as_str())]].concat());
        Self(W::ALL.iter().map(|word| (*word, count(*word))).collect())
    }

    /// Counts the word so many times.
    pub(super) fn add(&self, word: W, n: u64) {
        for (own, counter) in &self.0 {
            if *own == word {
                counter.increment(n);
            }
        }
    }

    /// Shows a count that is kept elsewhere.
    pub(super) fn show(&self, word: W, total: u64) {
        for (own, counter) in &self.0 {
            if *own == word {
                counter.absolute(total);
            }
        }
    }

    /// Shows the sum of the tallies.
    pub(super) fn mirror<'a>(&self, tallies: impl Iterator<Item = &'a Tally<W>> + Clone) {
        for (word, counter) in &self.0 {
            counter.absolute(tallies.clone().map(|tally| tally.get(*word)).sum());
        }
    }
}
