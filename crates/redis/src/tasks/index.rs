//! The tasks of an owner, in the order of creation: sorted sets of the names of their keys.

use couplet_core::Error;
use couplet_tasks::Record;

use super::{RedisTasks, stored::expiry};
use crate::{
    connection::Repeat,
    script::{Input, Lua},
};

static INDEX: Lua = Lua::new(include_str!("index.lua"));

impl RedisTasks {
    /// The names of an owner's sets: order of creation, and times of expiry.
    fn index_names(&self, owner: Option<&str>) -> (String, String) {
        let order = self.redis.names().key("tasks", owner.as_slice());
        let expiry = format!("{order}:expiry");
        (order, expiry)
    }

    pub(super) async fn add_to_index(&self, record: &Record) -> Result<(), Error> {
        let (order, times) = self.index_names(record.owner.as_deref());
        let name = self.task_name(&record.id);
        let input = Input::new(&order).key(&times).bytes(&*name).number(expiry(record));
        self.redis.run::<bool>(&INDEX, input, Repeat::Safe).await.map(drop)
    }

    /// Deletes a task that no other process knows.
    pub(super) async fn delete(&self, record: &Record) -> Result<(), Error> {
        let (order, times) = self.index_names(record.owner.as_deref());
        let name = self.task_name(&record.id);
        for (verb, key, member) in [("DEL", &name, None), ("ZREM", &order, Some(&name)), ("ZREM", &times, Some(&name))]
        {
            let mut command = redis::cmd(verb);
            command.arg(key).arg(member);
            self.redis.ask::<u64>(command).await?;
        }
        Ok(())
    }

    /// Up to `most` tasks of an owner; `None` if the one to begin after is not known.
    pub(super) async fn page(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        most: usize,
    ) -> Result<Option<Vec<Record>>, Error> {
        let (order, _) = self.index_names(owner);
        let mut from = "-inf".to_owned();
        if let Some(after) = after {
            let mut command = redis::cmd("ZSCORE");
            command.arg(&order).arg(self.task_name(after));
            match self.redis.ask::<Option<f64>>(command).await? {
                Some(score) => from = format!("({score}"),
                None => return Ok(None),
            }
        }
        let mut page: Vec<Record> = Vec::new();
        while page.len() < most {
            let count = (most - page.len()).min(crate::BATCH);
            let mut command = redis::cmd("ZRANGEBYSCORE");
            command.arg(&order).arg(&from).arg("+inf").arg("WITHSCORES").arg("LIMIT").arg(0).arg(count);
            let found: Vec<(String, f64)> = self.redis.ask(command).await?;
            let Some((_, last)) = found.last() else { break };
            from = format!("({last}");
            let is_last = found.len() < count;
            let names: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
            // A task that has expired may still be in the set.
            let records = self.read_all(&names).await?.into_iter().flatten().map(|stored| stored.record);
            page.extend(records.filter(|record| record.owner.as_deref() == owner));
            if is_last {
                break;
            }
        }
        Ok(Some(page))
    }
}
