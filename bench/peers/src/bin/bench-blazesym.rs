//! blazesym: `FILE ADDRESSES` measures lookups of link-time addresses straight from DWARF.

use std::hint::black_box;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let source = Source::Elf(Elf::new(&arguments[1]));
    let symbolizer = Symbolizer::builder()
        .enable_auto_reload(false)
        .enable_code_info(true)
        .enable_inlined_fns(true)
        .enable_demangling(false)
        .build();
    bench_peers::measure(&bench_peers::addresses(&arguments[2]), |address| {
        match symbolizer.symbolize_single(&source, Input::VirtOffset(address)) {
            Ok(Symbolized::Sym(symbol)) => {
                black_box(&symbol);
                1 + symbol.inlined.len()
            }
            _ => 0,
        }
    });
}
