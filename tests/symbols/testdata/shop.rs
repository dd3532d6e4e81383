// Methods, with a reference, numbers, a value of an enumeration and a text.
mod shop {
    #[repr(u32)]
    #[derive(Clone, Copy)]
    pub enum Kind {
        Small = 1,
        Large = 7,
    }
    pub struct Till {
        pub total: i64,
    }
    impl Till {
        #[inline(never)]
        pub fn sell(&mut self, count: u32, price: i64, kind: Kind, name: &str) -> i64 {
            self.total += count as i64 * price + kind as i64 + name.as_bytes()[name.len() / 2] as i64;
            self.total
        }
    }
}

fn main() {
    let mut till = shop::Till { total: 0 };
    let mut sum = 0;
    for i in 0..5u32 {
        let kind = if i % 2 == 0 { shop::Kind::Small } else { shop::Kind::Large };
        let name = format!("apples{}", std::env::args().count());
        sum += till.sell(i + 1, i as i64 - 3, kind, &name[i as usize..]);
    }
    std::process::exit((sum == 1) as i32);
}
