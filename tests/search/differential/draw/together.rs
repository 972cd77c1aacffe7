//! Searches whose conditions are decided together: pairs and triples of parameters of the searched type itself, without
//! chains. Statistics, dictionary codes and programs decide the parameters of one type in different ways.

use std::rc::Rc;

use super::super::definition::Definition;
use super::super::world::Query;
use super::Draw;

/// The kinds of parameters whose values have prefixes.
const ORDERED: [&str; 3] = ["date", "number", "quantity"];

impl<'w> Draw<'w, '_> {
    /// A search by two or three parameters of all kinds, and a resource that it probably matches.
    pub(in crate::search::differential) fn together(&mut self) -> (Query, &'w str) {
        let count = 2 + self.below(2);
        self.of_parameters(count, |_| true, &[])
    }

    /// A search by parameters with dates, numbers or quantities: one parameter for each prefix. Parameters may be the
    /// same. Also returns a resource that the search probably matches.
    pub(in crate::search::differential) fn with_prefixes(&mut self, prefixes: &[&'static str]) -> (Query, &'w str) {
        self.of_parameters(prefixes.len(), |kind| ORDERED.contains(&kind), prefixes)
    }

    fn of_parameters(
        &mut self,
        count: usize,
        is_wanted: impl Fn(&str) -> bool,
        prefixes: &[&'static str],
    ) -> (Query, &'w str) {
        let (world, types) = (self.world, self.types.clone());
        loop {
            let resource_type = (*self.pick(&types)).to_owned();
            let own = world.definitions.own(&resource_type).filter(|of| {
                let values = world.values(&resource_type, &of.code).unwrap();
                is_wanted(&of.kind) && values.iter().any(|items| !items.is_empty())
            });
            let mut all: Vec<Rc<Definition>> = own.cloned().collect();
            if is_wanted("date") {
                all.extend(world.definitions.get(&resource_type, "_lastUpdated").cloned());
            }
            if all.len() < 2 {
                continue;
            }
            let rows = world.rows(&resource_type);
            let meant = self.below(rows.len());
            let mut conditions = Vec::new();
            for at in 0..count {
                let definition = self.pick(&all).clone();
                let row = if self.chance(70) { meant } else { self.below(rows.len()) };
                self.prefix = prefixes.get(at).copied();
                conditions.push(self.asked(&resource_type, &definition, row));
            }
            self.prefix = None;
            let sort = if self.chance(30) {
                self.sort(&resource_type)
            } else {
                Vec::new()
            };
            let query = Query {
                resource_type,
                conditions,
                sort,
            };
            return (query, &rows[meant].name);
        }
    }
}
