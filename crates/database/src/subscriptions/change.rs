//! Creating, updating, acknowledging and deleting subscriptions, each as a transaction.

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;
use jackdaw_model::Etag;
use jackdaw_query::FollowQuery;
use jackdaw_storage::WriteTransaction;

use super::definition::{
    Subscription, SubscriptionDefinition, SubscriptionStart, SubscriptionUpdate,
};
use crate::database::Database;
use crate::error::{ReadError, WriteError};
use crate::snapshot::Snapshot;
use crate::store::trees::{SETTINGS, SUBSCRIPTION_NAMES, SUBSCRIPTIONS, decode_number};
use crate::store::{Applied, State};

/// Number of changes of subscriptions, from which numbers of subscriptions are taken.
const LAST_INDEX_KEY: &[u8] = b"last_subscription_index";
/// Most subscriptions of a database.
const COUNT_MAX: u64 = 10_000;

impl Database {
    /// Creates a subscription. One that is there already with the same name and query is given
    /// back as it is.
    ///
    /// # Errors
    /// See [`WriteError`]; [`WriteError::SubscriptionExists`] when the name belongs to another
    /// query, [`WriteError::SubscriptionQuery`] when the query cannot be one.
    pub fn create_subscription(
        &self,
        definition: SubscriptionDefinition,
    ) -> Result<Subscription, WriteError> {
        check_query(&definition.query)?;
        self.run(move |transaction, _| Ok((create(transaction, definition)?, Applied::default())))
    }

    /// Changes a subscription; gives it as it is then, and whether anything changed. Open
    /// connections notice that its index is another.
    ///
    /// # Errors
    /// See [`WriteError`]; [`WriteError::NoSubscription`] when it is not there.
    pub fn update_subscription(
        &self,
        number: u64,
        update: SubscriptionUpdate,
    ) -> Result<(Subscription, bool), WriteError> {
        if let Some(query) = &update.query {
            check_query(query)?;
        }
        self.run(move |transaction, _| {
            let outcome = self::update(transaction, number, update)?;
            Ok((outcome, Applied::default()))
        })
    }

    /// Deletes a subscription by its name in any letter case; gives what it was, `None` when there
    /// is none.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn delete_subscription(&self, name: &str) -> Result<Option<Subscription>, WriteError> {
        let name = name.to_owned();
        self.run(move |transaction, _| {
            let Some(number) = number_of(transaction, &name)? else {
                return Ok((None, Applied::default()));
            };
            let found = load(transaction, number)?;
            if let Some(found) = &found {
                let folded = lowercase(&found.name);
                let mut names = transaction.tree_mut(SUBSCRIPTION_NAMES)?;
                names.delete(folded.as_bytes())?;
                let mut all = transaction.tree_mut(SUBSCRIPTIONS)?;
                all.delete(&number.to_be_bytes())?;
                next_index(transaction)?;
            }
            Ok((found, Applied::default()))
        })
    }

    /// Stores that everything up to `position` was acknowledged; `done` is told whether it was
    /// stored. It is not when the subscription is gone or was changed since `index`. The position
    /// never goes back.
    pub fn submit_acknowledgement(
        &self,
        number: u64,
        index: u64,
        position: Etag,
        done: impl FnOnce(Result<bool, WriteError>) + Send + 'static,
    ) {
        self.submit_operation(
            move |transaction, core| {
                let now = core.now();
                let stored = rewrite(transaction, number, |stored| {
                    if stored.index != index {
                        return false;
                    }
                    stored.position = stored.position.max(position);
                    stored.last_acknowledged = Some(now);
                    true
                })?;
                Ok((stored, Applied::default()))
            },
            move |outcome| done(outcome.map(|(stored, _)| stored)),
        );
    }

    /// Stores that a connection began now.
    pub fn submit_subscription_connected(
        &self,
        number: u64,
        done: impl FnOnce(Result<bool, WriteError>) + Send + 'static,
    ) {
        self.submit_operation(
            move |transaction, core| {
                let now: UnixTicks = core.now();
                let stored = rewrite(transaction, number, |stored| {
                    stored.last_connected = Some(now);
                    true
                })?;
                Ok((stored, Applied::default()))
            },
            move |outcome| done(outcome.map(|(stored, _)| stored)),
        );
    }
}

fn check_query(text: &str) -> Result<(), WriteError> {
    match FollowQuery::parse(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(WriteError::SubscriptionQuery {
            text: text.to_owned(),
            error: error.into(),
        }),
    }
}

fn create(
    transaction: &mut WriteTransaction,
    definition: SubscriptionDefinition,
) -> Result<Subscription, WriteError> {
    if let Some(name) = &definition.name
        && let Some(number) = number_of(transaction, name)?
        && let Some(existing) = load(transaction, number)?
    {
        if existing.query == definition.query {
            return Ok(existing);
        }
        return Err(WriteError::SubscriptionExists(existing.name));
    }
    let index = next_index(transaction)?;
    let position = resolved(transaction, definition.start, Etag(0))?;
    let subscription = Subscription {
        number: index,
        name: definition.name.unwrap_or_else(|| index.to_string()),
        query: definition.query,
        position,
        mentor_node: definition.mentor_node,
        is_pinned: definition.is_pinned,
        is_disabled: definition.is_disabled,
        archived: definition.archived,
        index,
        last_acknowledged: None,
        last_connected: None,
    };
    subscription.check()?;
    if transaction.tree_mut(SUBSCRIPTIONS)?.len() >= COUNT_MAX {
        return Err(WriteError::TooManySubscriptions(COUNT_MAX));
    }
    store(transaction, &subscription)?;
    store_name(transaction, &subscription)?;
    Ok(subscription)
}

fn update(
    transaction: &mut WriteTransaction,
    number: u64,
    update: SubscriptionUpdate,
) -> Result<(Subscription, bool), WriteError> {
    let missing = || WriteError::NoSubscription(format!("id '{number}'"));
    let before = load(transaction, number)?.ok_or_else(missing)?;
    let mut changed = before.clone();
    changed.query = update.query.unwrap_or(changed.query);
    changed.mentor_node = update.mentor_node.or(changed.mentor_node);
    changed.is_pinned = update.is_pinned.unwrap_or(changed.is_pinned);
    changed.is_disabled = update.is_disabled.unwrap_or(changed.is_disabled);
    changed.position = resolved(transaction, update.start, before.position)?;
    if let Some(name) = update.name {
        let owner = number_of(transaction, &name)?;
        if owner.is_some_and(|owner| owner != number) {
            return Err(WriteError::SubscriptionExists(name));
        }
        changed.name = name;
    }
    if changed == before {
        return Ok((before, false));
    }
    changed.index = next_index(transaction)?;
    changed.check()?;
    store(transaction, &changed)?;
    let folded = lowercase(&before.name);
    let mut names = transaction.tree_mut(SUBSCRIPTION_NAMES)?;
    names.delete(folded.as_bytes())?;
    store_name(transaction, &changed)?;
    Ok((changed, true))
}

fn resolved(
    transaction: &mut WriteTransaction,
    start: SubscriptionStart,
    unchanged: Etag,
) -> Result<Etag, WriteError> {
    Ok(match start {
        SubscriptionStart::Unchanged => unchanged,
        SubscriptionStart::Beginning => Etag(0),
        SubscriptionStart::After(etag) => etag,
        SubscriptionStart::Last => {
            State::load(&transaction.tree_mut(SETTINGS)?.as_tree())?.last_etag
        }
    })
}

/// Changes a stored subscription without a new index, when `change` says so; whether it did.
fn rewrite(
    transaction: &mut WriteTransaction,
    number: u64,
    change: impl FnOnce(&mut Subscription) -> bool,
) -> Result<bool, WriteError> {
    let Some(mut stored) = load(transaction, number)? else {
        return Ok(false);
    };
    let is_changed = change(&mut stored);
    if is_changed {
        store(transaction, &stored)?;
    }
    Ok(is_changed)
}

fn next_index(transaction: &mut WriteTransaction) -> Result<u64, WriteError> {
    let mut settings = transaction.tree_mut(SETTINGS)?;
    let last = match settings.get(LAST_INDEX_KEY)? {
        Some(bytes) => decode_number(bytes)?.0,
        None => 0,
    };
    settings.put(LAST_INDEX_KEY, &(last + 1).to_le_bytes())?;
    Ok(last + 1)
}

fn number_of(transaction: &mut WriteTransaction, name: &str) -> Result<Option<u64>, WriteError> {
    let folded = lowercase(name);
    if folded.is_empty() || folded.len() > crate::names::ID_BYTES_MAX {
        return Ok(None);
    }
    let names = transaction.tree_mut(SUBSCRIPTION_NAMES)?;
    let bytes = names.get(folded.as_bytes())?;
    Ok(bytes.map(decode_number).transpose()?.map(|number| number.0))
}

fn load(
    transaction: &mut WriteTransaction,
    number: u64,
) -> Result<Option<Subscription>, WriteError> {
    let all = transaction.tree_mut(SUBSCRIPTIONS)?;
    let bytes = all.get(&number.to_be_bytes())?;
    Ok(bytes
        .map(|bytes| Subscription::decode(number, bytes))
        .transpose()?)
}

fn store(transaction: &mut WriteTransaction, stored: &Subscription) -> Result<(), WriteError> {
    let mut all = transaction.tree_mut(SUBSCRIPTIONS)?;
    all.put(&stored.number.to_be_bytes(), &stored.encode())?;
    Ok(())
}

fn store_name(transaction: &mut WriteTransaction, stored: &Subscription) -> Result<(), WriteError> {
    let mut names = transaction.tree_mut(SUBSCRIPTION_NAMES)?;
    names.put(
        lowercase(&stored.name).as_bytes(),
        &stored.number.to_le_bytes(),
    )?;
    Ok(())
}

impl Snapshot {
    /// The subscription with this name, in any letter case.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn subscription(&self, name: &str) -> Result<Option<Subscription>, ReadError> {
        let folded = lowercase(name);
        let Some(names) = self.transaction().tree(SUBSCRIPTION_NAMES)? else {
            return Ok(None);
        };
        if folded.is_empty() || folded.len() > crate::names::ID_BYTES_MAX {
            return Ok(None);
        }
        match names
            .get(folded.as_bytes())?
            .map(decode_number)
            .transpose()?
        {
            Some(number) => self.subscription_by_number(number.0),
            None => Ok(None),
        }
    }

    /// The subscription with this number.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn subscription_by_number(&self, number: u64) -> Result<Option<Subscription>, ReadError> {
        let Some(all) = self.transaction().tree(SUBSCRIPTIONS)? else {
            return Ok(None);
        };
        let bytes = all.get(&number.to_be_bytes())?;
        bytes
            .map(|bytes| Subscription::decode(number, bytes))
            .transpose()
    }

    /// A page of all subscriptions, in the order of their creation.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn subscriptions(
        &self,
        start: usize,
        page_size: usize,
    ) -> Result<Vec<Subscription>, ReadError> {
        let Some(all) = self.transaction().tree(SUBSCRIPTIONS)? else {
            return Ok(Vec::new());
        };
        let mut key_bytes = Vec::new();
        let page = all.iter()?.skip(start).take(page_size);
        page.map(|entry| {
            let (key, value) = entry?;
            key.copy_to(&mut key_bytes);
            let key = <[u8; 8]>::try_from(&key_bytes[..]);
            let key = key.map_err(|_| ReadError::damaged("the number of a subscription"))?;
            Subscription::decode(u64::from_be_bytes(key), value)
        })
        .collect()
    }
}
