//! Decides how what is summed out of leaps is drawn: from noise that can be turned round (maths §10.7).

use rand::{Rng, RngExt};

use crate::graph::block::{BlockFamily, Placed, range_of};
use crate::graph::draw::DrawBuffers;
use collapsar_core::Result;
use collapsar_core::elementary::Elementary;
use collapsar_core::family::{GammaCube, GaussianBuffers, GaussianPart};

/// Blocks that are summed out, with the noise that they were last drawn from.
#[derive(Debug, Clone)]
pub(super) struct Rest<'a> {
    blocks: &'a [Placed],
    noise: Vec<Noise>,
    buffers: DrawBuffers,
    drawn: Vec<f64>,
    statistics: Vec<f64>,
}

/// What a block is drawn from.
#[derive(Debug, Clone)]
enum Noise {
    /// Nobody asks for its numbers.
    Unseen,
    /// Standard normal numbers, and the places of the scalars that these are for.
    Field(GaussianPart, Vec<f64>, Vec<u32>),
    /// Shapes of gamma variables with numbers that are nearly normal: one for a gamma variable, one for each part of
    /// proportions. Without numbers where these were drawn otherwise.
    Gammas(Vec<GammaCube>, Vec<f64>),
    /// What has no such noise.
    Fresh,
}

/// What values are found in, block by block: the factors of fields.
pub(super) type Fields = Vec<GaussianBuffers>;

impl<'a> Rest<'a> {
    /// With the places of each block's numbers; what is not seen is not drawn.
    pub(super) fn new(blocks: &'a [Placed], targets: &[Vec<u32>], seen: &[bool]) -> Self {
        let noise = |(placed, targets): (&'a Placed, &Vec<u32>)| {
            let seen = |number: usize| seen[targets[number] as usize];
            if !(0..targets.len()).any(seen) {
                return Noise::Unseen;
            }
            match &placed.0.family {
                BlockFamily::Gaussian(family) => {
                    let part = family.part(seen);
                    let places = part.scalars().iter();
                    let places = places.map(|scalar| targets[*scalar as usize]).collect();
                    Noise::Field(part, vec![], places)
                }
                BlockFamily::Gamma(_) | BlockFamily::Dirichlet(_) => Noise::Gammas(vec![], vec![]),
                _ => Noise::Fresh,
            }
        };
        Self {
            blocks,
            noise: blocks.iter().zip(targets).map(noise).collect(),
            buffers: DrawBuffers::default(),
            drawn: vec![],
            statistics: vec![],
        }
    }

    /// The sum of the values of all blocks; leaves the factors of fields for draws.
    pub(super) fn value(&self, naturals: &[f64], fields: &mut Fields) -> Result<f64> {
        fields.resize_with(self.blocks.len(), GaussianBuffers::default);
        let mut value = 0.0;
        for (placed, buffers) in self.blocks.iter().zip(fields) {
            let natural = &naturals[range_of(placed)];
            value += match &placed.0.family {
                BlockFamily::Gaussian(family) => family.value_into(natural, buffers)?,
                _ => placed.0.potential().value(natural)?,
            };
        }
        Ok(value)
    }

    /// Draws what is seen of all blocks, from new noise or, where `turned`, from the last noise turned round.
    pub(super) fn draw<R: Rng + ?Sized>(
        &mut self,
        turned: bool,
        (naturals, fields): (&[f64], &mut Fields),
        rng: &mut R,
        targets: &[Vec<u32>],
        numbers: &mut [f64],
    ) -> Result<()> {
        let each = self.blocks.iter().zip(&mut self.noise);
        for ((placed, noise), (targets, field)) in each.zip(targets.iter().zip(fields)) {
            let natural = &naturals[range_of(placed)];
            match noise {
                Noise::Unseen => {}
                Noise::Field(part, noise, places) => {
                    let BlockFamily::Gaussian(family) = &placed.0.family else {
                        continue;
                    };
                    if turned && noise.len() == part.noise() {
                        for z in noise.iter_mut() {
                            *z = -*z;
                        }
                    } else {
                        noise.resize(part.noise(), 0.0);
                        let normal = collapsar_core::random::StandardNormal;
                        for z in noise.iter_mut() {
                            *z = rng.sample(normal);
                        }
                    }
                    family.draw_part(part, noise, field, |place, x| {
                        numbers[places[place] as usize] = x;
                    });
                }
                Noise::Gammas(cubes, noise) => {
                    let gamma = matches!(placed.0.family, BlockFamily::Gamma(_));
                    let shapes = if gamma { &natural[..1] } else { natural };
                    if draw_gammas(turned, shapes, cubes, noise, rng) {
                        let draws = cubes.iter().zip(&*noise).map(|(cube, z)| cube.at(*z));
                        let total = if gamma {
                            natural[1]
                        } else {
                            draws.clone().sum()
                        };
                        for (&target, draw) in targets.iter().zip(draws) {
                            numbers[target as usize] = draw / total;
                        }
                        continue;
                    }
                    let (drawn, statistics) = (&mut self.drawn, &mut self.statistics);
                    fresh(placed, natural, (rng, &mut self.buffers), drawn, statistics)?;
                    super::super::put(targets, drawn, numbers);
                }
                Noise::Fresh => {
                    let (drawn, statistics) = (&mut self.drawn, &mut self.statistics);
                    fresh(placed, natural, (rng, &mut self.buffers), drawn, statistics)?;
                    super::super::put(targets, drawn, numbers);
                }
            }
        }
        Ok(())
    }
}

fn fresh<R: Rng + ?Sized>(
    placed: &Placed,
    natural: &[f64],
    (rng, buffers): (&mut R, &mut DrawBuffers),
    drawn: &mut Vec<f64>,
    statistics: &mut Vec<f64>,
) -> Result<()> {
    drawn.resize(placed.0.numbers(), 0.0);
    statistics.resize(natural.len(), 0.0);
    (placed.0).draw_into(natural, rng, buffers, drawn, statistics)
}

/// Draws the noise of gamma variables with these shapes, or turns it round; says whether there is any: small shapes have none.
fn draw_gammas<R: Rng + ?Sized>(
    turned: bool,
    shapes: &[f64],
    cubes: &mut Vec<GammaCube>,
    noise: &mut Vec<f64>,
    rng: &mut R,
) -> bool {
    let same = cubes.len() == shapes.len()
        && (cubes.iter().zip(shapes)).all(|(cube, shape)| cube.shape() == *shape);
    if !same {
        cubes.clear();
        cubes.extend(shapes.iter().map_while(|shape| GammaCube::new(*shape)));
        noise.clear();
    }
    if cubes.len() < shapes.len() {
        return false;
    }
    if turned && noise.len() == shapes.len() {
        for (cube, z) in cubes.iter().zip(noise) {
            let gain = cube.ln_density(-*z) - cube.ln_density(*z);
            // What is as likely on the other side goes there; the rest of the time it stays.
            if gain >= 0.0 || rng.random::<f64>() < gain.exp_() {
                *z = -*z;
            }
        }
    } else {
        noise.clear();
        noise.extend(cubes.iter().map(|cube| cube.draw(rng)));
    }
    true
}
