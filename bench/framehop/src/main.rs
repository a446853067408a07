//! capture.cfi.30, the side of framehop: 30 frames of this thread through code without frame
//! pointers, rules cached, addresses only. The stack is that of bench.h: eight functions with
//! frames of different sizes that call each other. Before anything is measured the stack is walked
//! to its end once, and must be exactly the one that was built.

use std::hint::black_box;
use std::ops::Range;
use std::process::exit;
use std::time::Instant;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder};
use object::{Object, ObjectSection, ObjectSegment};

const DEPTH: usize = 30;
const RECURSIONS: usize = DEPTH + 2;
const BATCHES: usize = 21;
const CALLS: u32 = 10_000;

type Bytes = &'static [u8];

struct Walker {
    unwinder: UnwinderX86_64<Bytes>,
    cache: CacheX86_64,
}

impl Walker {
    /// Fills `frames` from the caller's own stack, innermost first. Returns how many there are and
    /// whether the walk came to the end of the stack; a walk that lost its way is no end.
    #[inline(never)]
    fn capture(&mut self, frames: &mut [u64]) -> (usize, bool) {
        let (ip, sp, bp): (u64, u64, u64);
        // SAFETY: reads registers only.
        unsafe {
            std::arch::asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp",
                out(reg) ip, out(reg) sp, out(reg) bp,
                options(nomem, nostack, preserves_flags));
        }
        // SAFETY: the rules of this program's own code lead to its own stack only.
        let mut read_stack = |address: u64| Ok(unsafe { *(address as *const u64) });
        let registers = UnwindRegsX86_64::new(ip, sp, bp);
        let mut walk = self.unwinder.iter_frames(ip, registers, &mut self.cache, &mut read_stack);
        for (count, frame) in frames.iter_mut().enumerate() {
            match walk.next() {
                Ok(Some(address)) => *frame = address.address(),
                Ok(None) => return (count, true),
                Err(_) => return (count, false),
            }
        }
        (frames.len(), false)
    }
}

fn fail(what: &str) -> ! {
    eprintln!("framehop: {what}");
    exit(1);
}

/// One mapped file: its name, where it begins and ends, and whether any of it is code.
struct Mapped {
    path: String,
    range: Range<u64>,
    code: bool,
}

fn mapped_files() -> Vec<Mapped> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_else(|_| fail("no maps"));
    let mut files: Vec<Mapped> = Vec::new();
    for line in maps.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (Some(path), Some((from, to))) = (fields.get(5), fields[0].split_once('-')) else {
            continue;
        };
        let (Ok(from), Ok(to)) = (u64::from_str_radix(from, 16), u64::from_str_radix(to, 16))
        else {
            continue;
        };
        let code = fields[1].contains('x');
        match files.iter_mut().find(|file| file.path == *path) {
            Some(file) => {
                file.range.end = to;
                file.code |= code;
            }
            None if path.starts_with('/') => {
                files.push(Mapped { path: path.to_string(), range: from..to, code });
            }
            None => {}
        }
    }
    files.retain(|file| file.code);
    files
}

fn module(mapped: Mapped) -> Option<Module<Bytes>> {
    let bytes: Bytes = std::fs::read(&mapped.path).ok()?.leak();
    let elf = object::File::parse(bytes).ok()?;
    let range = |name: &str| {
        let section = elf.section_by_name(name)?;
        Some(section.address()..section.address() + section.size())
    };
    let data = |name: &str| elf.section_by_name(name)?.data().ok();
    let sections = ExplicitModuleSectionInfo {
        base_svma: elf.segments().map(|segment| segment.address()).min()? & !0xfff,
        text_svma: range(".text"),
        text: data(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: data(".eh_frame_hdr"),
        ..Default::default()
    };
    let base = mapped.range.start;
    Some(Module::new(mapped.path, mapped.range, base, sections))
}

/// The whole stack: the recursion's return addresses come round every eight frames, and nothing
/// else on the stack does.
fn check_whole_stack(walker: &mut Walker) {
    let mut frames = [0; 4 * DEPTH];
    let (count, ended) = walker.capture(&mut frames);
    if !ended {
        fail(&format!("no end of the stack after {count} frames"));
    }
    let repeated = (8..count).filter(|&i| frames[i] == frames[i - 8]).count();
    // The innermost of the frames called the leaf, so its return address is another one.
    if repeated != RECURSIONS - 8 {
        fail(&format!("{repeated} frames that come round instead of {}", RECURSIONS - 8));
    }
    if std::env::args().nth(1).as_deref() == Some("frames") {
        for address in &frames[..count] {
            eprintln!("{address:#x}");
        }
    }
}

/// Nanoseconds of one capture. Never inlined, so that there is one place that captures.
#[inline(never)]
fn batch_ns(walker: &mut Walker, frames: &mut [u64; DEPTH]) -> f64 {
    let start = Instant::now();
    for _ in 0..CALLS {
        if walker.capture(black_box(frames)).0 != DEPTH {
            fail("fewer frames than asked for");
        }
    }
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn measure(walker: &mut Walker) {
    check_whole_stack(walker);
    let mut frames = [0; DEPTH];
    let mut batches = Vec::with_capacity(BATCHES);
    let mut misses = 0;
    // One place that calls: unrolled, each batch would begin with a return address not seen before.
    for batch in 0..=black_box(BATCHES) {
        let ns = batch_ns(walker, &mut frames);
        if batch == 0 {
            misses = walker.cache.stats().misses();
        } else {
            batches.push(ns);
        }
    }
    // Addresses that share a slot of the cache displace each other: that would be no warm figure.
    if walker.cache.stats().misses() != misses {
        fail("rules were not cached all the time");
    }
    batches.sort_by(f64::total_cmp);
    println!("{:.2}", batches[BATCHES / 2]);
}

macro_rules! frame {
    ($name:ident, $next:ident, $words:literal) => {
        #[inline(never)]
        fn $name(walker: &mut Walker, left: usize) {
            let mut space = [0usize; $words];
            black_box(&mut space);
            if left == 0 {
                measure(walker);
            } else {
                $next(walker, left - 1);
            }
            black_box(&mut space);
        }
    };
}

frame!(frame0, frame1, 1);
frame!(frame1, frame2, 3);
frame!(frame2, frame3, 8);
frame!(frame3, frame4, 2);
frame!(frame4, frame5, 16);
frame!(frame5, frame6, 5);
frame!(frame6, frame7, 1);
frame!(frame7, frame0, 24);

fn main() {
    let mut unwinder = UnwinderX86_64::new();
    for module in mapped_files().into_iter().filter_map(module) {
        unwinder.add_module(module);
    }
    frame0(&mut Walker { unwinder, cache: CacheX86_64::new() }, RECURSIONS);
}
