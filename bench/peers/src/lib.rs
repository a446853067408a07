//! What the sides share: reading the addresses, and timing lookups in the order they are given.

use std::time::Instant;

/// The addresses of a file, one hexadecimal number a line.
pub fn addresses(path: &str) -> Vec<u64> {
    std::fs::read_to_string(path)
        .expect("addresses")
        .lines()
        .map(|line| u64::from_str_radix(line.trim_start_matches("0x"), 16).expect("an address"))
        .collect()
}

/// Looks all addresses up once to warm up, then once as a whole for the mean, then once more with a
/// clock around each for the 99th percentile. Prints both in nanoseconds, and how many were known
/// to the error output. `lookup` returns the number of frames.
pub fn measure(addresses: &[u64], mut lookup: impl FnMut(u64) -> usize) {
    let known = addresses.iter().filter(|&&address| lookup(address) > 0).count();
    let start = Instant::now();
    let frames: usize = addresses.iter().map(|&address| lookup(address)).sum();
    let mean = start.elapsed().as_nanos() as f64 / addresses.len() as f64;
    let mut each: Vec<u128> = addresses
        .iter()
        .map(|&address| {
            let start = Instant::now();
            lookup(address);
            start.elapsed().as_nanos()
        })
        .collect();
    each.sort_unstable();
    println!("{mean:.1} {}", each[(each.len() - 1) * 99 / 100]);
    eprintln!("{known} of {} known, {frames} frames", addresses.len());
}
