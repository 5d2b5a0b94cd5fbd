//! One line a row.

use crate::servers::Who;

/// What is aimed at.
#[derive(Clone, Copy)]
pub(crate) enum Aim {
    AtMost(f64),
    AtLeast(f64),
}

/// What a row came to.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    /// The value of each round.
    pub(crate) values: Vec<(Who, Vec<f64>)>,
    /// What ours are divided by, round by round; without one the values themselves are judged.
    pub(crate) against: Option<Who>,
    /// For smol and for threads.
    pub(crate) aims: [Aim; 2],
}

pub(crate) fn heading() {
    println!(
        "{:<14} {:>5} {:>8} {:>8} {:>8} {:>8}  {:<20} {:<20} {:<12} pass",
        "row", "unit", "floor", "nginx", "smol", "std", "smol / reference", "std / reference", "aim"
    );
}

impl Line {
    /// A line of ours alone, whose values themselves are judged.
    pub(crate) fn plain(name: &'static str, unit: &'static str, values: [Vec<f64>; 2], most: [f64; 2]) -> Self {
        let [smol, std] = values;
        let values = vec![(Who::Smol, smol), (Who::Std, std)];
        Self { name, unit, values, against: None, aims: most.map(Aim::AtMost) }
    }

    pub(crate) fn print(&self) {
        let [floor, nginx, smol, std] = [Who::Floor, Who::Nginx, Who::Smol, Who::Std].map(|who| self.median(who));
        let judged = [Who::Smol, Who::Std].map(|who| self.judged(who));
        let ratio = |n: usize| match judged[n].as_slice() {
            [] => "-".to_owned(),
            [one] => format!("{one:.2}"),
            all => format!("{:.2} ({:.2}-{:.2})", median(all), all[0], all[all.len() - 1]),
        };
        let passed = |n: usize| match judged[n].as_slice() {
            [] => "-",
            all if self.aims[n].holds(median(all)) => "yes",
            _ => "NO",
        };
        let against = match self.against {
            Some(Who::Floor) => " floor",
            Some(Who::Nginx) => " nginx",
            Some(Who::Smol | Who::Std) | None => "",
        };
        let [one, other] = self.aims;
        let aim = if one.text() == other.text() { one.text() } else { format!("{} {}", one.text(), other.text()) };
        println!(
            "{:<14} {:>5} {:>8} {:>8} {:>8} {:>8}  {:<20} {:<20} {:<12} {} {}",
            self.name,
            self.unit,
            show(floor),
            show(nginx),
            show(smol),
            show(std),
            ratio(0),
            ratio(1),
            aim + against,
            passed(0),
            passed(1),
        );
    }

    fn of(&self, who: Who) -> &[f64] {
        self.values.iter().find(|(it, _)| *it == who).map_or(&[], |(_, values)| values)
    }

    fn median(&self, who: Who) -> Option<f64> {
        let mut values = self.of(who).to_vec();
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then(|| median(&values))
    }

    /// The ratios of a runtime, or its values, sorted.
    fn judged(&self, who: Who) -> Vec<f64> {
        let mut judged: Vec<f64> = match self.against {
            None => self.of(who).to_vec(),
            Some(against) => self.of(who).iter().zip(self.of(against)).map(|(ours, theirs)| ours / theirs).collect(),
        };
        judged.sort_by(f64::total_cmp);
        judged
    }
}

impl Aim {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtMost(most) => format!("<={most}"),
            Self::AtLeast(least) => format!(">={least}"),
        }
    }
}

/// Of sorted values, which there are.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

fn show(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value >= 1000.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}
