//! Bounds the memory of functions. DataFusion counts the rows that operators keep, but not the results of functions. So
//! a function that multiplies its input, such as `repeat`, could take any amount of memory, even while a statement is
//! planned.
//!
//! `plan` replaces the functions of a statement by bounded ones (`function`). A bounded function computes beforehand
//! how large its results can become (`growth`), and reserves this memory in the pool of the statement (`account`).

mod account;
mod function;
mod growth;
mod joined;
mod plan;
mod sizes;

pub(super) use account::Account;
pub(super) use plan::{bound, check_constants};

use std::sync::Arc;

use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool};
use datafusion::logical_expr::ScalarUDF;

/// Returns the bounded form of these functions, for plans from another process, and the functions that only plans use.
/// The results of all functions are counted in `pool`.
pub fn bounded_functions(
    functions: impl IntoIterator<Item = Arc<ScalarUDF>>,
    pool: &Arc<dyn MemoryPool>,
) -> Vec<Arc<ScalarUDF>> {
    let memory = match pool.memory_limit() {
        MemoryLimit::Finite(bytes) => bytes,
        _ => usize::MAX,
    };
    let account = Arc::new(Account::new(pool.clone(), memory));
    let joined = Arc::new(ScalarUDF::from(joined::Joined::default()));
    let all = functions.into_iter().chain([joined]);
    all.map(|function| function::bounded(&function, &account).unwrap_or(function))
        .collect()
}
