//! Who a request is from and what that principal may do: the program's to decide (spec, Authentication).

use crate::wire::{
    Scopes,
    http::{Field, RequestHead},
};
use alloc::{boxed::Box, sync::Arc};

/// Who a request is from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Principal {
    /// What keeps its sessions and keys from another's. An empty one is refused as unauthenticated.
    pub name: Arc<str>,
    /// What it may do. With none it is `forbidden` everywhere.
    pub scopes: Scopes,
}

impl Principal {
    /// A principal of that name with those scopes.
    pub fn new(name: impl Into<Arc<str>>, scopes: Scopes) -> Self {
        Self { name: name.into(), scopes }
    }
}

/// The program's hook: says who each request is from, whatever its route.
pub trait Authenticator: Send + Sync {
    /// Looks at the credentials in a request's head. It must not wait.
    ///
    /// # Errors
    /// [`AccessError::Refused`] is answered 401, [`AccessError::Failed`] 500.
    fn authenticate(&self, head: &RequestHead<'_>) -> Result<Principal, AccessError>;
}

/// Why there is no principal.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum AccessError {
    /// The credentials are absent or wrong.
    Refused,
    /// It could not be found out.
    Failed,
}

/// How a handler tells who asks.
pub enum Access {
    /// Nobody is let in: a handler that was given neither of the others.
    Refuse,
    /// Everybody is the principal `local` with these scopes, and only a loopback `Host` is answered.
    Insecure(Scopes),
    /// The program says.
    Authenticated {
        /// Its hook.
        authenticator: Box<dyn Authenticator>,
        /// What a 401 carries as `WWW-Authenticate`, at most 256 bytes; none: no such header.
        challenge: Option<Box<str>>,
    },
}

impl Access {
    /// Asks `authenticator`, without a challenge.
    pub fn authenticated(authenticator: impl Authenticator + 'static) -> Self {
        Self::Authenticated { authenticator: Box::new(authenticator), challenge: None }
    }

    /// One token that all four scopes go with, for `Authorization: Bearer TOKEN`.
    pub fn bearer(token: &str) -> Self {
        let bearer = Bearer { token: token.as_bytes().into(), principal: Principal::new("local", Scopes::ALL) };
        Self::Authenticated { authenticator: Box::new(bearer), challenge: Some("Bearer".into()) }
    }
}

/// One token, compared in a time that does not tell how much of it was right.
struct Bearer {
    token: Box<[u8]>,
    principal: Principal,
}

impl Authenticator for Bearer {
    fn authenticate(&self, head: &RequestHead<'_>) -> Result<Principal, AccessError> {
        match bearer_token(head) {
            Some(token) if same(token, &self.token) => Ok(self.principal.clone()),
            _ => Err(AccessError::Refused),
        }
    }
}

impl core::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Bearer(..)")
    }
}

/// The credential of the one `Authorization: Bearer` line of a head: the scheme in any case, one space, the credential exactly.
pub fn bearer_token<'b>(head: &RequestHead<'b>) -> Option<&'b [u8]> {
    let Field::One(value) = head.fields.get("authorization") else { return None };
    let (scheme, token) = value.split_at_checked(7)?;
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

/// Whether two secrets are the same; takes as long for a wrong first byte as for a wrong last one.
pub fn same(given: &[u8], wanted: &[u8]) -> bool {
    let mut differ = u8::from(given.len() != wanted.len());
    for (i, b) in given.iter().enumerate() {
        differ |= b ^ wanted.get(i % wanted.len().max(1)).copied().unwrap_or(0);
    }
    core::hint::black_box(differ) == 0
}
