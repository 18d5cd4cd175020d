//! A principal, what a route needs, and whether the one satisfies the other.
//!
//! The words are RavenDB's: a clearance for the server, and for clearance `ValidUser` an access for
//! each database by name. An operator may everything in every database; a cluster administrator
//! may besides change the server itself.
//!
//! Invariant: a user without access learns nothing from the answer: a database that is not there
//! and one that is not allowed are refused alike.

use std::collections::BTreeMap;

/// What somebody may do with the server, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Clearance {
    /// No proof of identity: health, version, Studio's files, exchanging a key for a token.
    Anyone,
    /// Somebody known, with access to the databases listed for them.
    ValidUser,
    /// Every database, and creating and deleting them.
    Operator,
    /// Everything, the server's certificate and other administrators included.
    ClusterAdmin,
}

impl Clearance {
    /// The word of the wire and of documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Clearance::Anyone => "Anyone",
            Clearance::ValidUser => "ValidUser",
            Clearance::Operator => "Operator",
            Clearance::ClusterAdmin => "ClusterAdmin",
        }
    }
}

/// What somebody may do in one database, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// Nothing. As a need: the route is about no database.
    NoDatabase,
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
    /// Besides, indexes and settings.
    Admin,
}

impl Access {
    /// The word of the wire and of documents; nothing for no access.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Access::NoDatabase => "",
            Access::Read => "Read",
            Access::Write => "ReadWrite",
            Access::Admin => "Admin",
        }
    }
}

/// What a route needs of who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) clearance: Clearance,
    pub(crate) access: Access,
}

/// Somebody who proved who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// For the audit log and for people; others may have the same.
    pub(crate) name: String,
    /// What they prove themselves by, which nobody else has: a certificate's thumbprint or the id
    /// of a key, after its kind.
    pub(crate) credential: String,
    pub(crate) clearance: Clearance,
    /// Access by name of the database in lower case; of no effect from `Operator` on.
    databases: BTreeMap<String, Access>,
}

impl Principal {
    pub(crate) fn new<'n>(
        name: &str,
        clearance: Clearance,
        databases: impl IntoIterator<Item = (&'n str, Access)>,
    ) -> Principal {
        let lower = |(name, access): (&str, Access)| (name.to_lowercase(), access);
        Principal {
            name: name.to_owned(),
            credential: String::new(),
            clearance,
            databases: databases.into_iter().map(lower).collect(),
        }
    }

    /// The same, proved by `credential`.
    pub(super) fn proved_by(self, credential: String) -> Principal {
        Principal { credential, ..self }
    }

    /// Whoever reaches a server that authenticates nobody.
    pub(crate) fn everybody() -> Principal {
        Principal::new("everybody", Clearance::ClusterAdmin, [])
    }

    /// The databases listed for them.
    pub(crate) fn databases(&self) -> impl Iterator<Item = (&str, Access)> {
        self.databases
            .iter()
            .map(|(name, access)| (name.as_str(), *access))
    }

    /// What they may do in a database, whether it is there or not.
    pub(crate) fn access_to(&self, database: &str) -> Access {
        if self.clearance >= Clearance::Operator {
            return Access::Admin;
        }
        let found = self.databases.get(&database.to_lowercase());
        found.copied().unwrap_or(Access::NoDatabase)
    }
}

/// Why it is not known who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Neither a certificate nor a token came with the request.
    Nobody,
    /// The token is not valid, or not any more.
    Invalid,
    /// The certificate is not registered, or not valid at this time.
    Certificate,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nobody proved who they are, and the route is not for anyone.
    Unknown(Unknown),
    /// Known, but the route needs more.
    Clearance,
    /// Known, but not allowed so much in this database.
    Database,
}

/// Whether whoever asks may use a route that needs `needs`, on `database` where it is about one.
pub(crate) fn decide(
    principal: Result<&Principal, Unknown>,
    needs: Needs,
    database: Option<&str>,
) -> Result<(), Refusal> {
    if needs.clearance == Clearance::Anyone {
        return Ok(());
    }
    let principal = principal.map_err(Refusal::Unknown)?;
    if principal.clearance < needs.clearance {
        return Err(Refusal::Clearance);
    }
    if needs.access == Access::NoDatabase {
        return Ok(());
    }
    // An operator may name no database: the handler says then what is missing.
    let access = match database {
        Some(database) => principal.access_to(database),
        None if principal.clearance >= Clearance::Operator => Access::Admin,
        None => Access::NoDatabase,
    };
    if access < needs.access {
        return Err(Refusal::Database);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_only_the_databases_listed_and_an_operator_has_all() {
        let user = Principal::new("u", Clearance::ValidUser, [("Music", Access::Write)]);
        let operator = Principal::new("o", Clearance::Operator, []);
        let needs = |clearance, access| Needs { clearance, access };
        let read = needs(Clearance::ValidUser, Access::Read);
        let admin = needs(Clearance::ValidUser, Access::Admin);
        let server = needs(Clearance::Operator, Access::NoDatabase);
        let nobody = Err(Refusal::Unknown(Unknown::Nobody));
        for (principal, needs, database, expected) in [
            (Err(Unknown::Nobody), read, Some("music"), nobody),
            (Ok(&user), read, Some("MUSIC"), Ok(())),
            (Ok(&user), admin, Some("music"), Err(Refusal::Database)),
            (Ok(&user), read, Some("other"), Err(Refusal::Database)),
            (Ok(&user), read, None, Err(Refusal::Database)),
            (Ok(&user), server, None, Err(Refusal::Clearance)),
            (Ok(&operator), admin, Some("other"), Ok(())),
            (Ok(&operator), server, None, Ok(())),
        ] {
            assert_eq!(
                decide(principal, needs, database),
                expected,
                "{principal:?} {needs:?} {database:?}"
            );
        }
    }
}
