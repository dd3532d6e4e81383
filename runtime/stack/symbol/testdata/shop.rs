// A program for tests: traits, generics, closures, inlined functions.
use std::collections::BTreeMap;

mod shop {
    pub trait Price {
        fn price(&self) -> f64;
    }
    pub struct Item {
        pub n: u64,
    }
    impl Price for Item {
        #[inline(never)]
        fn price(&self) -> f64 {
            (0..self.n % 50).map(|i| (i as f64).sqrt()).sum()
        }
    }
    #[inline(never)]
    pub fn total<T: Price>(v: &[T]) -> f64 {
        v.iter().map(|x| x.price()).sum()
    }
}

extern "C" {
    fn clock() -> i64; // of the CPU, in microseconds
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).map_or(0.5, |s| s.parse().unwrap());
    let mut t = 0.0;
    while unsafe { clock() } < (seconds * 1e6) as i64 {
        let items: Vec<shop::Item> = (0..500).map(|n| shop::Item { n }).collect();
        t += shop::total(&items);
        let mut count = BTreeMap::new();
        for x in &items {
            *count.entry(format!("k{}", x.n % 77)).or_insert(0) += 1;
        }
        let mut names: Vec<String> = count.keys().cloned().collect();
        names.sort_by(|a, b| b.cmp(a));
        t += names.len() as f64;
    }
    println!("{}", t);
}
