//! Idempotency keys: the id of a task under the name of its owner and key.

use couplet_core::{Error, ErrorKind};
use couplet_tasks::Record;

use super::{RedisTasks, stored::expiry};
use crate::{
    connection::Repeat,
    error::foreign,
    script::{Input, Lua},
};

static NAME: Lua = Lua::new(include_str!("name.lua"));

/// The attempts to claim a key. Each failure is the success of another process, or the end of its task.
const ATTEMPTS: usize = 16;

impl RedisTasks {
    /// Claims the idempotency key of a task that is stored already. Returns the other task that has it.
    pub(super) async fn claim_key(&self, record: &Record) -> Result<Option<Record>, Error> {
        let Some(key) = &record.key else { return Ok(None) };
        let owner = [record.owner.as_deref().unwrap_or_default(), &key.value];
        // No owner is an owner of its own.
        let parts: &[&str] = if record.owner.is_some() { &owner } else { &owner[1..] };
        let name = self.redis.names().key("taskkey", parts);
        let sealed = self.redis.seal(&name, "", record.id.as_bytes())?;
        for _ in 0..ATTEMPTS {
            let mut set = redis::cmd("SET");
            set.arg(&name).arg(&sealed).arg("NX").arg("PXAT").arg(expiry(record));
            if self.redis.ask::<Option<String>>(set).await?.is_some() {
                return Ok(None);
            }
            let mut get = redis::cmd("GET");
            get.arg(&name);
            let Some(other) = self.redis.ask::<Option<Vec<u8>>>(get).await? else { continue };
            let id = String::from_utf8(self.redis.open(&name, "", &other)?).map_err(|_| foreign(&name))?;
            if id == record.id {
                return Ok(None);
            }
            if let Some(found) = self.read(&self.task_name(&id)).await? {
                return Ok(Some(found.record));
            }
            // A task is stored before its key, so this one has expired.
            let input = Input::new(&name).bytes(other).bytes(&*sealed).number(expiry(record));
            if self.redis.run(&NAME, input, Repeat::Safe).await? {
                return Ok(None);
            }
        }
        Err(Error::new(ErrorKind::Other, format!("`{name}` was changed by others {ATTEMPTS} times in a row")))
    }
}
