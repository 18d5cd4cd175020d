//! Why a connection does not begin, or ends, in the words that clients turn into exceptions.

use serde_json::{Value, json};

use crate::wire::{Kind, WireError, kind};

/// What a client is told last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Farewell {
    /// Another connection has the subscription.
    InUse(String),
    /// The subscription ended for this client.
    Closed {
        message: String,
        can_reconnect: bool,
        no_docs_left: bool,
    },
    /// There is no such subscription.
    NotFound(String),
    /// What the client asked for cannot be.
    Invalid(String),
    /// Anything else: a type clients know, and a message.
    Failed(Kind, String),
}

impl Farewell {
    pub(super) fn in_use(name: &str) -> Farewell {
        Farewell::InUse(format!(
            "Subscription {name} is occupied, connection cannot be opened"
        ))
    }

    pub(super) fn not_found(name: &str) -> Farewell {
        Farewell::NotFound(format!(
            "Cannot find any Subscription Task with name: {name}"
        ))
    }

    pub(super) fn closed(message: impl Into<String>, can_reconnect: bool) -> Farewell {
        Farewell::Closed {
            message: message.into(),
            can_reconnect,
            no_docs_left: false,
        }
    }

    pub(super) fn disabled(name: &str) -> Farewell {
        let message = format!(
            "The subscription with the name '{name}' is disabled and cannot be used until enabled"
        );
        Farewell::closed(message, false)
    }

    /// After an update of the subscription, or when its position was set.
    pub(super) fn modified(name: &str) -> Farewell {
        let message =
            format!("The subscription '{name}' was modified, connection must be restarted");
        Farewell::closed(message, true)
    }

    pub(super) fn failed(error: &WireError) -> Farewell {
        Farewell::Failed(error.kind, error.message.clone())
    }

    /// The message that says it.
    pub(super) fn message(&self) -> Value {
        let status = |status: &str, kind: Kind, message: &str| {
            json!({
                "Type": "ConnectionStatus",
                "Status": status,
                "Message": message,
                "Exception": format!("{kind}: {message}"),
            })
        };
        match self {
            Farewell::InUse(message) => status("InUse", kind::SUBSCRIPTION_IN_USE, message),
            Farewell::NotFound(message) => status("NotFound", kind::NO_SUBSCRIPTION, message),
            Farewell::Invalid(message) => status("Invalid", kind::SUBSCRIPTION_INVALID, message),
            Farewell::Closed {
                message,
                can_reconnect,
                no_docs_left,
            } => {
                let mut told = status("Closed", kind::SUBSCRIPTION_CLOSED, message);
                told["Data"] = json!({
                    "CanReconnect": can_reconnect,
                    "NoDocsLeft": no_docs_left,
                });
                told
            }
            Farewell::Failed(kind, message) => json!({
                "Type": "Error",
                "Status": "None",
                "Message": message,
                "Exception": format!("{kind}: {message}"),
            }),
        }
    }
}
