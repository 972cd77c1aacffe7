//! Terminology of full size: generated tables like RxNorm with a million rows and 300,000 NDCs, and ICD-10-CM with
//! 97,584 codes. Measures loading, opening and lookups.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use criterion::{Criterion, Throughput};
use tabularium::published::Shrink;
use tabularium::terminology::codes::systems;
use tabularium::terminology::{Folder, Terminology, load};

const CONCEPTS: u32 = 1_000_000;
const NDCS: u32 = 300_000;
const DIAGNOSES: u32 = 97_584;

pub(crate) fn benches(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let rxnorm = [rxnorm_concepts(folder.path()), rxnorm_ndcs(folder.path())];
    let diagnoses = [diagnoses(folder.path())];
    let data = folder.path().join("data");
    let store = |files: &[PathBuf]| {
        let loaded = load::load(files, Some("1")).unwrap();
        Folder::new(&data).store(&loaded, Shrink::Refused).unwrap()
    };
    let mut group = criterion.benchmark_group("terminology");
    group.sample_size(10);
    group.throughput(Throughput::Elements(u64::from(CONCEPTS)));
    let (before, begun) = (memory("VmRSS:"), Instant::now());
    forget_peak();
    store(&rxnorm);
    println!(
        "terminology/load_rxnorm: one load takes {:.1} s and at most {} MiB",
        begun.elapsed().as_secs_f64(),
        memory("VmHWM:").saturating_sub(before) >> 20
    );
    group.bench_function("load_rxnorm", |bencher| bencher.iter(|| store(&rxnorm)));
    store(&diagnoses);
    group.bench_function("open", |bencher| {
        bencher.iter(|| {
            let terminology = Terminology::open(&data, None).unwrap();
            terminology.warm().unwrap();
        });
    });
    let terminology = Terminology::open(&data, None).unwrap();
    terminology.warm().unwrap();
    for system in [systems::RXNORM, systems::ICD_10_CM] {
        let system = terminology.code_system(system).unwrap();
        println!("{}: {} concepts, {} bytes", system.url(), system.len(), system.size());
    }
    group.throughput(Throughput::Elements(1));
    // The step makes consecutive lookups far apart.
    let codes: Vec<String> = (0..4096u32)
        .map(|n| (n.wrapping_mul(7919) % CONCEPTS).to_string())
        .collect();
    let mut next = codes.iter().cycle();
    group.bench_function("display", |bencher| {
        bencher.iter(|| black_box(terminology.display(systems::RXNORM, next.next().unwrap())));
    });
    let ndcs: Vec<String> = (0..4096u32)
        .map(|n| format!("{:011}", n.wrapping_mul(7919) % NDCS))
        .collect();
    let mut next = ndcs.iter().cycle();
    group.bench_function("rxnorm", |bencher| {
        bencher.iter(|| black_box(terminology.rxnorm(next.next().unwrap())));
    });
    group.finish();
}

/// The process's current or peak memory in bytes (`VmRSS:` or `VmHWM:`); 0 if the system does not report it.
fn memory(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line));
    let kilobytes = found.and_then(|text| text.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or_default() << 10
}

/// Resets the process's peak memory.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn file(folder: &Path, name: &str, line: impl Fn(u32) -> String, count: u32) -> PathBuf {
    let path = folder.join(name);
    let mut file = BufWriter::new(File::create(&path).unwrap());
    for number in 0..count {
        file.write_all(line(number).as_bytes()).unwrap();
    }
    file.flush().unwrap();
    path
}

fn rxnorm_concepts(folder: &Path) -> PathBuf {
    let line = |n: u32| {
        let (strength, kind) = (n % 900, ["SCD", "SBD", "SCDC", "IN"][n as usize % 4]);
        let name = format!("substance number {n} {strength} MG Delayed Release Oral Tablet");
        format!("{n}|ENG||||||{n}|{n}|{n}||RXNORM|{kind}|{n}|{name}||N|4096|\n")
    };
    file(folder, "RXNCONSO.RRF", line, CONCEPTS)
}

fn rxnorm_ndcs(folder: &Path) -> PathBuf {
    let line = |n: u32| format!("{}|||{n}|AUI|{n}|AT{n}||NDC|RXNORM|{n:011}|N|4096|\n", n * 3);
    file(folder, "RXNSAT.RRF", line, NDCS)
}

/// Codes of a letter, two digits and three more characters, so that some are below shorter ones.
fn diagnoses(folder: &Path) -> PathBuf {
    let line = |n: u32| {
        let group = n / 4;
        let letter = char::from(b'A' + u8::try_from(group / 1000 % 26).unwrap());
        let code = format!("{letter}{:02}{}{}", group / 10 % 100, group % 10, n % 4);
        let title = format!("Illness of kind {group}, encounter number {n}, with much that is to be said of it");
        format!("{:05} {code:<7} 1 {:<60} {title}\r\n", n % 100_000, "Illness")
    };
    file(folder, "icd10cm_order_2026.txt", line, DIAGNOSES)
}
