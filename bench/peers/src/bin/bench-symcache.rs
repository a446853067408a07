//! Sentry's symbolic: `convert FILE OUT` writes a symcache; `lookup FILE CACHE ADDRESSES` measures
//! lookups of link-time addresses in it (FILE tells the load address alone).

use std::hint::black_box;

use symbolic::common::ByteView;
use symbolic::debuginfo::Object;
use symbolic::symcache::{SymCache, SymCacheConverter};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let view = ByteView::open(&arguments[2]).expect("the debug file");
    let object = Object::parse(&view).expect("an object");
    if arguments[1] == "convert" {
        let mut converter = SymCacheConverter::new();
        converter.process_object(&object).expect("conversion");
        let mut out = std::io::BufWriter::new(std::fs::File::create(&arguments[3]).expect("output"));
        converter.serialize(&mut out).expect("writing");
        return;
    }
    let base = object.load_address();
    let bytes = ByteView::open(&arguments[3]).expect("the symcache");
    let cache = SymCache::parse(&bytes).expect("a symcache");
    bench_peers::measure(&bench_peers::addresses(&arguments[4]), |address| {
        let mut frames = 0;
        for location in cache.lookup(address - base) {
            black_box((location.function().name(), location.file(), location.line()));
            frames += 1;
        }
        frames
    });
}
