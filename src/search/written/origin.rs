//! Resolves criteria again from the text from which they were first resolved.

use super::super::SearchError;
use super::super::criteria::criterion::Criterion;
use super::super::criteria::origin::Origin;
use super::super::engine::Engine;
use super::super::parameters::raw::RawParameter;
use super::super::parameters::resolver::resource_type;

impl Origin {
    /// Resolves the criterion again. Returns `None` if the text resolves to no such criterion in this process.
    pub(in crate::search) fn resolve(&self, engine: &Engine) -> Result<Option<Criterion>, SearchError> {
        let Some(type_id) = resource_type(&self.resource) else {
            return Ok(None);
        };
        let resolver = engine.resolver(self.now, &self.base, None);
        let resolver = if self.among_others {
            resolver.among_others()
        } else {
            resolver
        };
        let raw = RawParameter::named(&self.parameter, &self.value);
        let root = resolver.criterion(type_id, &raw)?;
        let part = |within: Option<Criterion>, at: &usize| {
            let mut within = within?;
            within.parts_mut().into_iter().nth(*at).cloned()
        };
        Ok(self.part.iter().fold(root, part))
    }
}
