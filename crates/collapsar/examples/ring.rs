//! scratch experiment
use collapsar::mixture::*;
use collapsar::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = &args[1];
    let restarts: usize = args[2].parse().unwrap();
    let defaults = if args[3] == "paper" {
        Defaults::Paper
    } else {
        Defaults::Sklearn
    };
    let methods: Vec<(Direction, bool)> = args[4]
        .split(',')
        .map(|m| (m.trim_end_matches('+').parse().unwrap(), m.ends_with('+')))
        .collect();
    for r in 1..=5 {
        let text = std::fs::read_to_string(format!("{dir}/ring5_R{r}.csv")).unwrap();
        let mut values = vec![];
        for line in text.lines().skip(1) {
            let mut f = line.split(',');
            values.push(f.next().unwrap().parse::<f64>().unwrap());
            values.push(f.next().unwrap().parse::<f64>().unwrap());
        }
        let mut settings = Settings::new(8);
        settings.defaults = defaults;
        let model = Mixture::new(&values, 2, &settings).unwrap();
        let runs: Vec<(String, Restarts, f64)> = methods
            .iter()
            .map(|&(m, moves)| {
                let t = std::time::Instant::now();
                let fits = Restarts::run(restarts, |i| {
                    let (start, passes) = model.start(&Start::Random, i as u64)?;
                    let mut d = Driver::new(&model, m)
                        .spent(passes)
                        .stop(Stop::Gain(1e-6) | Stop::Iterations(20000));
                    if moves {
                        d = d.search(&model);
                    }
                    d.run(start)
                })
                .unwrap();
                (
                    format!("{m}{}", if moves { "+" } else { "" }),
                    fits,
                    t.elapsed().as_secs_f64(),
                )
            })
            .collect();
        let best = runs
            .iter()
            .map(|r| r.1.best().point.bound)
            .fold(f64::MIN, f64::max);
        for (m, fits, secs) in &runs {
            let n = restarts as f64;
            let ok = fits
                .fits
                .iter()
                .filter(|f| f.point.bound > best - 10.0)
                .count();
            let mean = fits.fits.iter().map(|f| f.point.bound).sum::<f64>() / n;
            let fall = fits.fits.iter().map(|f| f.fallbacks).sum::<u64>() as f64 / n;
            let diff: Vec<f64> = fits
                .fits
                .iter()
                .zip(&runs[0].1.fits)
                .map(|(a, b)| a.point.bound - b.point.bound)
                .collect();
            let dm = diff.iter().sum::<f64>() / n;
            let se = (diff.iter().map(|d| (d - dm).powi(2)).sum::<f64>() / n / n).sqrt();
            let tried = fits.fits.iter().map(|f| f.moves_tried).sum::<u64>() as f64 / n;
            let taken = fits.fits.iter().map(|f| f.moves_taken).sum::<u64>() as f64 / n;
            println!(
                "R={r} {m:6} best {:9.3} mean {mean:9.3} ok {ok:3} iters/run {:7.1} passes/run {:7.1} fallbacks {fall:5.1} iters/ok {:8.1} passes/ok {:9.1} dmean {dm:.2} +- {se:.2} moves {tried:.1} {taken:.1} ratio {:.2} {:.2} {secs:.1}s",
                fits.best().point.bound,
                fits.iterations() as f64 / n,
                fits.passes() as f64 / n,
                fits.iterations() as f64 / ok as f64,
                fits.passes() as f64 / ok as f64,
                runs[0].1.passes() as f64 / fits.passes() as f64,
                runs[0].1.passes() as f64
                    / runs[0]
                        .1
                        .fits
                        .iter()
                        .filter(|f| f.point.bound > best - 10.0)
                        .count() as f64
                    / (fits.passes() as f64 / ok as f64)
            );
        }
    }
}
