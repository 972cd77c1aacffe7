//! The tenant of a page: an application's live or test records. It is part of each page's URL, so that a link shows
//! the same to all operators.

use std::sync::Arc;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::consent::{Access, LOCAL_APPLICATION};
use crate::http::error::Error;
use crate::lake::{Mode, Scope};

/// Operators' requests count under this subject for the limits per credential.
const SUBJECT: &str = "console";
/// The maximum bytes of an application's id.
const LONGEST: usize = 200;

/// The application and the mode of the records that a page shows.
#[derive(Clone, Debug)]
pub(in crate::http::console) struct Tenant {
    /// Whether the records are live or test ones.
    pub(in crate::http::console) mode: Mode,
    /// The application to which the records belong.
    pub(in crate::http::console) application: Arc<str>,
    /// The tenant as a part of URL paths: `{mode}/{application}`.
    pub(in crate::http::console) path: String,
}

impl Default for Tenant {
    fn default() -> Tenant {
        Tenant::of(Mode::Live, LOCAL_APPLICATION)
    }
}

impl Tenant {
    /// Creates a tenant.
    pub(in crate::http::console) fn of(mode: Mode, application: &str) -> Tenant {
        let encoded = utf8_percent_encode(application, NON_ALPHANUMERIC);
        Tenant {
            path: format!("{}/{encoded}", mode.schema()),
            mode,
            application: application.into(),
        }
    }

    /// Parses the tenant in a URL path.
    pub(in crate::http::console) fn parse(mode: &str, application: &str) -> Result<Tenant, Error> {
        let mode = match mode {
            "live" => Mode::Live,
            "test" => Mode::Test,
            _ => return Err(Error::Unknown("records are live or test".to_owned())),
        };
        if application.is_empty() || application.len() > LONGEST {
            return Err(Error::Unknown("no application has such an id".to_owned()));
        }
        Ok(Tenant::of(mode, application))
    }

    /// Describes the tenant in words.
    pub(in crate::http::console) fn words(&self) -> String {
        format!("{} records of {}", self.mode.schema(), self.application)
    }

    /// Returns the scope through which operators read: that of the application.
    pub(in crate::http::console) fn scope(&self) -> Arc<Scope> {
        Arc::new(Scope {
            mode: self.mode,
            application: self.application.clone(),
            patient: None,
        })
    }

    /// Returns this scope as an access, for calling operations of the API. No token exists for it.
    pub(in crate::http::console) fn access(&self, ends_at: i64) -> Arc<Access> {
        Arc::new(Access {
            jti: SUBJECT.into(),
            subject: SUBJECT.into(),
            client: SUBJECT.into(),
            expires_at: ends_at,
            scope: self.scope(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_what_its_path_names() {
        let place = Tenant::parse("test", "my/app x").unwrap();
        assert_eq!(place.path, "test/my%2Fapp%20x");
        assert_eq!((place.mode, &*place.scope().application), (Mode::Test, "my/app x"));
        assert!(place.scope().patient.is_none());
        assert!(Tenant::parse("all", "local").is_err());
        assert!(Tenant::parse("live", "").is_err());
    }
}
