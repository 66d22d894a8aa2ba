//! p(fragment | transcript): it sums to one, and what it is made of is learned from simulated fragments.

use collapsar::Error;
use collapsar::model::quant::fragment::{
    Counts, Ends, Fragments, Layout, Library, LibraryType, Placement, Report, Settings, Strand,
    effective_length,
};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};

fn library(name: &str) -> LibraryType {
    name.parse().expect("a library type")
}

fn given(name: &str) -> Settings {
    Settings {
        library: Library::Given(library(name)),
        ..Settings::default()
    }
}

fn place(transcript: u32, start: u32, end: u32, layout: Layout) -> Placement {
    Placement {
        transcript,
        start,
        end,
        layout,
        log_odds: 0.0,
    }
}

/// The eight ways two reads can lie.
fn pairs() -> impl Iterator<Item = Layout> {
    (0..8).map(|bits| Layout::Pair {
        first_forward: bits & 1 > 0,
        second_forward: bits & 2 > 0,
        first_left: bits & 4 > 0,
    })
}

type Told = Vec<Vec<(u32, f64)>>;

fn run(lengths: &[u32], settings: Settings, fragments: &[Vec<Placement>]) -> (Told, Report) {
    let mut stream = Fragments::new(lengths, None, settings).expect("good settings");
    let mut told = vec![];
    let mut out = |entries: &[(u32, f64)]| told.push(entries.to_vec());
    for placements in fragments {
        stream.push(placements, &mut out).expect("a good fragment");
    }
    let report = stream.finish(&mut out).expect("an end");
    (told, report)
}

/// A layout of a fragment of the library: both reads, or the first or second alone.
fn layout(library: LibraryType, alone: Option<bool>, rng: &mut impl Rng) -> Layout {
    let first_forward = match library.strand {
        Strand::Either => rng.random(),
        Strand::Forward => true,
        Strand::Reverse => false,
    };
    let second_forward = first_forward == (library.ends == Ends::Matching);
    let first_left = match library.ends {
        Ends::Inward => first_forward,
        Ends::Outward => !first_forward,
        Ends::Matching | Ends::Single => rng.random(),
    };
    match (library.ends, alone) {
        (Ends::Single, _) => Layout::Single {
            forward: first_forward,
        },
        (_, Some(first)) => Layout::Orphan {
            first,
            forward: if first { first_forward } else { second_forward },
        },
        (_, None) => Layout::Pair {
            first_forward,
            second_forward,
            first_left,
        },
    }
}

/// Fragments on transcripts taken evenly, with lengths of a normal distribution.
fn simulated(
    lengths: &[u32],
    library: LibraryType,
    count: usize,
    (mean, sd): (f64, f64),
) -> Vec<Vec<Placement>> {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let normal = Normal::new(mean, sd).expect("mean and sd");
    let mut fragments = vec![];
    while fragments.len() < count {
        let transcript = rng.random_range(0..lengths.len());
        let length = lengths[transcript];
        let size = normal.sample(&mut rng).round().max(30.0) as u32;
        if size > length {
            continue;
        }
        let start = rng.random_range(0..=length - size);
        let alone = (rng.random_range(0..10) == 0).then(|| rng.random());
        let layout = layout(library, alone, &mut rng);
        let (mut from, mut to) = (start, start + size);
        if let Layout::Single { forward } | Layout::Orphan { forward, .. } = layout {
            if (library.ends == Ends::Outward) == forward {
                from = to - 30;
            } else {
                to = from + 30;
            }
        }
        fragments.push(vec![place(transcript as u32, from, to, layout)]);
    }
    fragments
}

#[test]
fn pairs_sum_to_one() {
    for (name, incompatible) in [("ISR", 0.0), ("IU", 0.01), ("MSF", 0.0), ("OU", 0.1)] {
        let settings = Settings {
            fragment_length: Some((60.0, 20.0)),
            longest: 150,
            incompatible,
            ..given(name)
        };
        for length in [1_u32, 20, 149, 300] {
            let mut all = vec![];
            for start in 0..length {
                for end in start + 1..=length {
                    all.extend(pairs().map(|layout| vec![place(0, start, end, layout)]));
                }
            }
            let (told, report) = run(&[length], settings.clone(), &all);
            let sum: f64 = told.iter().flatten().map(|(_, ln_p)| ln_p.exp()).sum();
            // Up to 300,000 terms.
            assert!((sum - 1.0).abs() < 1e-10, "{name} {length}: {sum}");
            let counts = report.counts;
            let dropped = counts.incompatible + counts.too_long + counts.unplaced;
            assert_eq!(counts.used + dropped, counts.fragments);
        }
    }
}

#[test]
fn reads_alone_sum_to_one() {
    for (name, incompatible) in [
        ("U", 0.0),
        ("SR", 0.0),
        ("SF", 0.01),
        ("ISR", 0.1),
        ("MU", 0.0),
    ]
    .into_iter()
    .chain([("OSF", 0.0), ("OU", 0.0)])
    {
        let settings = Settings {
            fragment_length: Some((200.0, 30.0)),
            incompatible,
            ..given(name)
        };
        for (length, read) in [(75_u32, 75), (150, 75), (700, 50), (3000, 30)] {
            let mut all = vec![];
            for start in 0..=length - read {
                for forward in [true, false] {
                    let layout = if library(name).paired() {
                        let first = false;
                        Layout::Orphan { first, forward }
                    } else {
                        Layout::Single { forward }
                    };
                    all.push(vec![place(0, start, start + read, layout)]);
                }
            }
            let (told, _) = run(&[length], settings.clone(), &all);
            let sum: f64 = told.iter().flatten().map(|(_, ln_p)| ln_p.exp()).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{name} {length}: {sum}");
        }
    }
}

#[test]
fn library_types_are_told() {
    let lengths = [3000, 800, 5000];
    for library in LibraryType::all() {
        let fragments = simulated(&lengths, library, 500, (200.0, 30.0));
        let (told, report) = run(&lengths, Settings::default(), &fragments);
        assert_eq!(report.library, library);
        assert_eq!(told.len(), 500, "{library}");
        assert_eq!(report.orientations.total(), 500);
        assert_eq!(report.orientations.fraction(library), 1.0);
    }
    // Nine in ten agree: stranded, and the tenth is dropped. Three in four: not stranded.
    for (share, name) in [(10, "ISF"), (4, "IU")] {
        let mut fragments = simulated(&lengths, library("ISF"), 1000, (200.0, 30.0));
        for fragment in fragments.iter_mut().step_by(share) {
            fragment[0].layout = Layout::Pair {
                first_forward: false,
                second_forward: true,
                first_left: false,
            };
        }
        let (_, report) = run(&lengths, Settings::default(), &fragments);
        assert_eq!(report.library.name(), name);
        let dropped = if name == "ISF" { 100 } else { 0 };
        assert_eq!(report.counts.incompatible, dropped);
    }
}

#[test]
fn lengths_and_effective_lengths_are_learned() {
    let lengths = [150, 250, 400, 1500, 6000];
    let fragments = simulated(&lengths, library("ISR"), 40_000, (220.0, 40.0));
    let (told, report) = run(&lengths, Settings::default(), &fragments);
    assert_eq!(told.len(), 40_000);
    let found = &report.fragment_length;
    // Of 36,000 pairs, one in ten on transcripts that cut the lengths; standard error 0.2, the
    // rest is what the fit and the even part add.
    assert!((found.mean() - 220.0).abs() < 1.5, "{}", found.mean());
    assert!((found.sd() - 40.0).abs() < 3.0, "{}", found.sd());
    for (&length, effective) in lengths.iter().zip(&report.effective_lengths) {
        assert_eq!(*effective, effective_length(length, found));
        assert!(*effective >= 1.0 && *effective <= f64::from(length));
    }
    assert!((report.effective_lengths[4] - 5781.0).abs() < 2.0);
}

#[test]
fn order_is_kept_and_runs_agree_bit_for_bit() {
    let lengths = [3000, 800, 5000];
    let fragments = simulated(&lengths, library("IU"), 3000, (200.0, 30.0));
    let learn = |learn| Settings {
        learn,
        ..Settings::default()
    };
    // Told of as they come, or all at the end: the same, as the first 1000 were learned from.
    let (streamed, report) = run(&lengths, learn(1000), &fragments);
    let (again, _) = run(&lengths, learn(1000), &fragments);
    assert_eq!(streamed, again);
    let (first, at_end) = run(&lengths, learn(2000), &fragments[..1000]);
    assert_eq!(streamed[..1000], first);
    assert_eq!(report.fragment_length, at_end.fragment_length);
    let transcripts = streamed.iter().map(|entries| entries[0].0);
    assert!(transcripts.eq(fragments.iter().map(|fragment| fragment[0].transcript)));
}

#[test]
fn nothing_at_all() {
    for lengths in [&[][..], &[1], &[500, 10]] {
        let (told, report) = run(lengths, Settings::default(), &[]);
        assert!(told.is_empty());
        assert_eq!(report.counts, Counts::default());
        assert_eq!(report.library.name(), "IU");
        assert_eq!(report.orientations.fraction(report.library), 1.0);
        let good = |effective: &f64| effective.is_finite() && *effective >= 1.0;
        assert!(report.effective_lengths.iter().all(good));
    }
    // A fragment without a placement is counted.
    let (_, report) = run(&[100], Settings::default(), &[vec![], vec![]]);
    assert_eq!((report.counts.fragments, report.counts.unplaced), (2, 2));
}

#[test]
fn transcripts_shorter_than_the_fragments() {
    let forward = Layout::Single { forward: true };
    // The read covers the whole transcript: its one place is certain.
    let (told, report) = run(&[40, 2000], given("SF"), &[vec![place(0, 0, 40, forward)]]);
    assert!(told[0][0].1.abs() < 1e-9, "{told:?}");
    assert!(report.effective_lengths[0] >= 1.0);
    // A read longer than any fragment is dropped and counted; so is a pair.
    let pair = Layout::Pair {
        first_forward: true,
        second_forward: false,
        first_left: true,
    };
    let long = [
        vec![place(1, 0, 1500, forward)],
        vec![place(1, 0, 1500, pair)],
    ];
    for (name, fragment) in ["SF", "ISF"].into_iter().zip(long) {
        let (told, report) = run(&[40, 2000], given(name), &[fragment]);
        assert!(told.is_empty());
        assert_eq!(report.counts.too_long, 1);
    }
}

#[test]
fn placements_add_their_odds() {
    let pair = Layout::Pair {
        first_forward: true,
        second_forward: false,
        first_left: true,
    };
    let orphan = Layout::Orphan {
        first: true,
        forward: true,
    };
    let mut worse = place(0, 500, 700, pair);
    worse.log_odds = -3.5;
    // Two places on one transcript, one on another, and a read alone that pairs outdo.
    let fragment = vec![
        place(0, 100, 300, pair),
        worse,
        place(1, 10, 210, pair),
        place(1, 10, 60, orphan),
    ];
    let (told, report) = run(&[1000, 400], given("ISF"), &[fragment]);
    let entries = &told[0];
    assert_eq!(
        entries.iter().map(|entry| entry.0).collect::<Vec<_>>(),
        [0, 0, 1]
    );
    assert!((entries[0].1 - entries[1].1 - 3.5).abs() < 1e-12);
    let lengths = &report.fragment_length;
    let ratio = (801.0_f64 / 201.0).ln() - lengths.below(400).ln();
    assert!((entries[2].1 - entries[0].1 - ratio).abs() < 1e-9);
}

#[test]
fn bad_placements_are_refused() {
    let pair = Layout::Pair {
        first_forward: true,
        second_forward: false,
        first_left: true,
    };
    let mut odd = place(0, 0, 50, pair);
    odd.log_odds = f32::NAN;
    let wrong = [
        place(2, 0, 50, pair),
        place(0, 0, 101, pair),
        place(0, 50, 50, pair),
        odd,
    ];
    let texts = wrong.map(|placement| {
        let mut stream = Fragments::new(&[100, 200], None, Settings::default()).expect("settings");
        let error = stream.push(&[placement], &mut |_| ()).expect_err("refused");
        error.to_string()
    });
    assert_eq!(
        texts,
        [
            "fragment 1: transcript number 2, expected less than 2",
            "fragment 1: bases 0 to 101 of transcript number 0, expected a range within its 100",
            "fragment 1: bases 50 to 50 of transcript number 0, expected a range within its 100",
            "fragment 1: log odds of NaN, expected finite numbers up to 0",
        ]
    );
    let mut stream = Fragments::new(&[100], None, given("SR")).expect("settings");
    let placement = place(0, 0, 50, pair);
    stream.push(&[placement], &mut |_| ()).expect("kept");
    let error = stream
        .finish(&mut |_| ())
        .expect_err("pairs are no single reads");
    assert!(matches!(error, Error::Setting { .. }));
    assert_eq!(
        error.to_string(),
        "library-type is SR with reads in pairs, expected A, or IU if that is known"
    );
    let settings = Settings {
        sequence_bias: true,
        ..Settings::default()
    };
    assert!(Fragments::new(&[100], None, settings).is_err());
}

#[test]
fn biases_are_learned_in_the_stream() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let lengths = [3000_u32, 800, 5000];
    let sequences: Vec<Vec<u8>> = lengths
        .iter()
        .map(|&length| {
            (0..length)
                .map(|_| b"ACGT"[rng.random_range(0..4)])
                .collect()
        })
        .collect();
    let settings = Settings {
        sequence_bias: true,
        position_bias: true,
        fragment_length: Some((200.0, 30.0)),
        learn: 20_000,
        ..Settings::default()
    };
    for name in ["ISR", "U", "MU"] {
        // Fragments that begin with G twice as often as others do.
        let mut fragments = simulated(&lengths, library(name), 40_000, (200.0, 30.0));
        fragments.retain(|fragment| {
            let place = fragment[0];
            let base = sequences[place.transcript as usize][place.start as usize];
            base == b'G' || rng.random()
        });
        let run = || {
            let mut stream = Fragments::new(&lengths, Some(&sequences), settings.clone())?;
            let mut told = vec![];
            let mut out = |entries: &[(u32, f64)]| told.push(entries[0].1);
            for placements in &fragments {
                stream.push(placements, &mut out)?;
            }
            let report = stream.finish(&mut out)?;
            Ok::<_, Error>((told, report))
        };
        let (told, report) = run().expect("a run");
        assert_eq!(told.len(), fragments.len());
        assert!(told.iter().all(|ln_p| ln_p.is_finite()));
        assert_eq!(told, run().expect("a run").0);
        for (&length, effective) in lengths.iter().zip(&report.effective_lengths) {
            let even = effective_length(length, &report.fragment_length);
            assert!(
                (effective / even).ln().abs() < 0.2,
                "{name} {length}: {effective} {even}"
            );
        }
        // The data are likelier than without the correction.
        let mut plain = vec![];
        let plain_settings = Settings {
            fragment_length: settings.fragment_length,
            ..Settings::default()
        };
        let mut stream = Fragments::new(&lengths, None, plain_settings).expect("settings");
        let mut out = |entries: &[(u32, f64)]| plain.push(entries[0].1);
        for placements in &fragments {
            stream.push(placements, &mut out).expect("a fragment");
        }
        stream.finish(&mut out).expect("an end");
        let gain = told.iter().sum::<f64>() - plain.iter().sum::<f64>();
        assert!(gain > 0.01 * told.len() as f64, "{name}: {gain}");
    }
    let short = vec![vec![b'A'; 100]; 3];
    let stream = Fragments::new(&lengths, Some(&short), settings).expect("settings");
    let error = stream
        .finish(&mut |_| ())
        .expect_err("sequences of other lengths");
    assert_eq!(
        error.to_string(),
        "transcript number 0: a sequence of 100 bases, expected its length, 3000"
    );
}
