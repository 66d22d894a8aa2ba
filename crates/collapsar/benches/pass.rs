//! What a pass over the data of a mixture costs.

use std::hint::black_box;

use collapsar::mixture::{Covariance, Mixture, Settings, Start};
use collapsar::{Collapsed, Potential};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Numbers of no structure between 0 and 1, the same everywhere.
fn data(rows: usize, columns: usize) -> Vec<f64> {
    let mut state = 1_u64;
    let mut next = || {
        // Knuth's MMIX generator; the high bits are the good ones.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..rows * columns).map(|_| next()).collect()
}

fn pass(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pass");
    for (covariance, rows, columns, components) in [
        (Covariance::Full, 500, 2, 8),
        (Covariance::Full, 20_000, 16, 20),
        (Covariance::Diagonal, 20_000, 16, 20),
    ] {
        let mut settings = Settings::new(components);
        settings.covariance = covariance;
        let model = Mixture::new(&data(rows, columns), columns, &settings).expect("usable data");
        let (messages, _) = model.start(&Start::Random, 1).expect("a start");
        let mut gradient = vec![0.0; messages.len()];
        group.throughput(Throughput::Elements(rows as u64));
        let size = format!("N={rows} D={columns} K={components}");
        group.bench_function(BenchmarkId::new(covariance.name(), size), |bencher| {
            bencher.iter(|| {
                let at = black_box(&messages);
                model.local().value_and_gradient(at, &mut gradient)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, pass);
criterion_main!(benches);
