//! The order of points in the index: bits of longitude and latitude by turns, so that points near
//! each other mostly have keys near each other.
//!
//! Called for terms of points, and for the ranges of keys that a box covers.
//!
//! Threads: pure functions.

use super::shape::{BoundingBox, Coordinate};

/// Most ranges a box is divided into: more would save points, fewer would save seeks.
const RANGES_MAX: usize = 32;

/// Degrees around the earth and from pole to pole, and the steps each is divided into.
const LONGITUDES: f64 = 360.0;
const LATITUDES: f64 = 180.0;
const STEPS: f64 = 4_294_967_296.0;

/// The key of a point: the bits of its longitude and latitude by turns.
pub(crate) fn key_of(at: Coordinate) -> u64 {
    let x = step(at.longitude + LONGITUDES / 2.0, LONGITUDES);
    let y = step(at.latitude + LATITUDES / 2.0, LATITUDES);
    spread(x) << 1 | spread(y)
}

/// The middle of what a key stands for.
pub(crate) fn spot_of(key: u64) -> Coordinate {
    let place = |step: u32, degrees: f64| (f64::from(step) + 0.5) / STEPS * degrees - degrees / 2.0;
    Coordinate {
        longitude: place(gather(key >> 1), LONGITUDES),
        latitude: place(gather(key), LATITUDES),
    }
}

fn step(degrees: f64, all: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to what fits; the cast saturates"
    )]
    let step = (degrees / all * STEPS).clamp(0.0, STEPS - 1.0) as u32;
    step
}

/// Puts a zero in front of every bit.
fn spread(value: u32) -> u64 {
    let mut bits = u64::from(value);
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

/// Takes every second bit, the lowest first.
fn gather(key: u64) -> u32 {
    let mut bits = key & 0x5555_5555_5555_5555;
    for (shift, mask) in [
        (1, 0x3333_3333_3333_3333),
        (2, 0x0f0f_0f0f_0f0f_0f0f),
        (4, 0x00ff_00ff_00ff_00ff),
        (8, 0x0000_ffff_0000_ffff),
        (16, 0x0000_0000_ffff_ffff_u64),
    ] {
        bits = (bits | bits >> shift) & mask;
    }
    u32::try_from(bits).unwrap_or(u32::MAX)
}

/// Ranges of keys, both ends included, that hold every point of the box; ascending.
pub(crate) fn ranges_over(area: &BoundingBox) -> Vec<(u64, u64)> {
    let x = |longitude: f64| step(longitude + LONGITUDES / 2.0, LONGITUDES);
    let y = |latitude: f64| step(latitude + LATITUDES / 2.0, LATITUDES);
    let (low, high) = ((x(area.west), y(area.south)), (x(area.east), y(area.north)));
    // Cells by their first corner and size; those on the edge are divided, the largest first.
    let mut inside: Vec<(u64, u64)> = Vec::new();
    let mut edge: Vec<(u32, u32, u32)> = vec![(0, 0, 32)];
    while !edge.is_empty() && inside.len() + edge.len() * 4 <= RANGES_MAX * 4 {
        let mut next = Vec::new();
        for (x, y, bits) in edge.drain(..) {
            let half = bits - 1;
            for (dx, dy) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let (x, y) = (x | dx << half, y | dy << half);
                let last = u32::MAX >> (32 - half.max(1)) & if half == 0 { 0 } else { u32::MAX };
                let (x_end, y_end) = (x | last, y | last);
                if x_end < low.0 || x > high.0 || y_end < low.1 || y > high.1 {
                    continue;
                }
                let is_inside = x >= low.0 && x_end <= high.0 && y >= low.1 && y_end <= high.1;
                match is_inside || half == 0 {
                    true => inside.push(range_of(x, y, half)),
                    false => next.push((x, y, half)),
                }
            }
        }
        edge = next;
    }
    inside.extend(edge.into_iter().map(|(x, y, bits)| range_of(x, y, bits)));
    inside.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (first, last) in inside {
        match merged.last_mut() {
            Some(before) if before.1.checked_add(1) == Some(first) => before.1 = last,
            _ => merged.push((first, last)),
        }
    }
    merged
}

fn range_of(x: u32, y: u32, bits: u32) -> (u64, u64) {
    let first = spread(x) << 1 | spread(y);
    let size = match bits {
        32 => u64::MAX,
        bits => (1_u64 << (2 * bits)) - 1,
    };
    (first, first | size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_within_a_centimeter() {
        for (latitude, longitude) in [
            (0.0, 0.0),
            (90.0, 180.0),
            (-90.0, -180.0),
            (38.9103, -77.39),
            (-33.8688, 151.2093),
        ] {
            let at = Coordinate {
                latitude,
                longitude,
            };
            let spot = spot_of(key_of(at));
            assert!(at.distance_km(spot) < 1e-5, "{at:?} {spot:?}");
            assert_eq!(key_of(spot), key_of(at));
        }
    }

    #[test]
    fn ranges_hold_all_points_of_a_box_and_not_much_else() {
        let area = BoundingBox {
            west: 10.0,
            east: 12.5,
            south: 50.0,
            north: 51.0,
        };
        let ranges = ranges_over(&area);
        assert!(ranges.len() <= RANGES_MAX * 4 && ranges.is_sorted());
        let holds = |latitude: f64, longitude: f64| {
            let key = key_of(Coordinate {
                latitude,
                longitude,
            });
            ranges
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&key))
        };
        for i in 0..=20 {
            for j in 0..=20 {
                let (y, x) = (f64::from(i) / 20.0, f64::from(j) / 20.0);
                assert!(holds(50.0 + y, 10.0 + 2.5 * x));
            }
        }
        assert!(!holds(40.0, 11.0) && !holds(50.5, 30.0) && !holds(-50.5, 11.0));
        let all = BoundingBox {
            west: -180.0,
            east: 180.0,
            south: -90.0,
            north: 90.0,
        };
        assert_eq!(ranges_over(&all), [(0, u64::MAX)]);
    }
}
