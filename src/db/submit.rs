//! Submitting texts.

use std::collections::HashSet;

use tokio_postgres::types::Type;
use uuid::Uuid;

use super::Db;
use super::error::{DbError, Trouble};
use super::pool::Param;
use super::resolve::{OnUnknown, resolve};
use super::row::{get, task};
use super::sql::{SUBMIT, SUBMITTED};
use super::tasks::Preview;
use crate::domain::input::{Admission, SubmissionKey, storable};
use crate::domain::outcome::{SubmitVerdict, Submitted};
use crate::domain::{Approval, Name, NewTask, Status, Task};

impl Db {
    /// Submits one text. Sending it again under the same key finds the task that was made.
    ///
    /// # Errors
    /// `Unavailable`: it is certainly not in the table. `Taken`: neither, as its key names another tenant's task.
    /// `Unknown`: not even asking again told; the same key may be sent again at any time.
    pub async fn submit(
        &self,
        text: &str,
        new: &NewTask,
        key: &SubmissionKey,
        on_unknown: OnUnknown<'_>,
    ) -> Result<Submitted, DbError> {
        let mut all = self.submit_all(&[(key.clone(), text)], new, Preview::Whole, on_unknown).await?;
        match all.pop() {
            Some(SubmitVerdict::Submitted(submitted)) => Ok(submitted),
            Some(SubmitVerdict::Taken) => Err(taken(&new.tenant, key)),
            None => Err(DbError::BadRow {
                what: "a submit".to_owned(),
                problem: "the server returned no row for it".to_owned(),
            }),
        }
    }

    /// Submits several texts in one statement: all of them or none, but for those whose submission id is taken. The
    /// answers are in the order of the texts.
    ///
    /// # Errors
    /// As [`Db::submit`], for all of them.
    pub async fn submit_all(
        &self,
        texts: &[(SubmissionKey, &str)],
        new: &NewTask,
        preview: Preview,
        on_unknown: OnUnknown<'_>,
    ) -> Result<Vec<SubmitVerdict>, DbError> {
        let attempt = || self.submit_once(texts, new, preview);
        let trace = || self.submitted_before(texts, &new.tenant, preview);
        let resolved = resolve(on_unknown, attempt, trace).await?;
        self.wake();
        let mut answers = resolved.answer;
        for (answer, (key, _)) in answers.iter_mut().zip(texts) {
            let SubmitVerdict::Submitted(submitted) = answer else { continue };
            submitted.resolved_from_unknown = resolved.from_unknown;
            // A row that was there before the first answer was lost is told from one that this submit made by its
            // key alone, so after a lost answer a fresh key's row is this submit's own.
            submitted.created |= resolved.from_unknown && key.given.is_none();
        }
        Ok(answers)
    }

    async fn submit_once(
        &self,
        texts: &[(SubmissionKey, &str)],
        new: &NewTask,
        preview: Preview,
    ) -> Result<Vec<SubmitVerdict>, DbError> {
        let ids: Vec<Uuid> = texts.iter().map(|(key, _)| key.id).collect();
        let keys: Vec<Option<&str>> = texts.iter().map(|(key, _)| key.given.as_deref()).collect();
        let inputs: Vec<&str> = texts.iter().map(|(_, text)| *text).collect();
        let status = match new.admission {
            Admission::Queue => Status::Queued,
            Admission::Hold => Status::Submitted,
        };
        let characters = preview.characters();
        let rows = self
            .inner
            .operator
            .query(
                SUBMIT,
                &[
                    (&ids, Type::UUID_ARRAY),
                    (&keys, Type::TEXT_ARRAY),
                    (&inputs, Type::TEXT_ARRAY),
                    (&new.tenant.as_str(), Type::TEXT),
                    (&new.queue.as_str(), Type::TEXT),
                    (&status.as_str(), Type::TEXT),
                    (&new.priority, Type::INT4),
                    (&new.max_attempts, Type::INT4),
                    (&new.delay.as_secs_f64(), Type::FLOAT8),
                    (&characters, Type::INT4),
                    (&new.submitted_by.as_deref().map(storable), Type::TEXT),
                    (&(new.approval == Approval::Another), Type::BOOL),
                    (&new.notify, Type::BOOL),
                ],
            )
            .await?;
        let mut made: Vec<(Uuid, Task, Made)> = Vec::with_capacity(ids.len());
        for row in &rows {
            made.push((get(row, "submission", "a submit")?, task(row)?, Made::Now));
        }
        let known: HashSet<Uuid> = made.iter().map(|(id, ..)| *id).collect();
        let missing: Vec<Uuid> = ids.iter().copied().filter(|id| !known.contains(id)).collect();
        if !missing.is_empty() {
            made.append(&mut self.known(&missing, &new.tenant, preview).await?);
        }
        Ok(in_order(&ids, made))
    }

    /// The tasks of all these texts, if each is known by its key. `None` does not tell that they never will be.
    async fn submitted_before(
        &self,
        texts: &[(SubmissionKey, &str)],
        tenant: &Name,
        preview: Preview,
    ) -> Result<Option<Vec<SubmitVerdict>>, DbError> {
        let ids: Vec<Uuid> = texts.iter().map(|(key, _)| key.id).collect();
        let known = self.known(&ids, tenant, preview).await?;
        let all = ids.iter().all(|id| known.iter().any(|(known, ..)| known == id));
        Ok(all.then(|| in_order(&ids, known)))
    }

    /// The tenant's tasks that were submitted before under these ids.
    async fn known(
        &self,
        ids: &[Uuid],
        tenant: &Name,
        preview: Preview,
    ) -> Result<Vec<(Uuid, Task, Made)>, DbError> {
        let params: &[Param<'_>] =
            &[(&ids, Type::UUID_ARRAY), (&preview.characters(), Type::INT4), (&tenant.as_str(), Type::TEXT)];
        let rows = self.inner.operator.query(SUBMITTED, params).await?;
        rows.iter().map(|row| Ok((get(row, "submission", "a submit")?, task(row)?, Made::Before))).collect()
    }
}

/// The answers in the order of `ids`. What is neither new nor known to the tenant is taken.
fn in_order(ids: &[Uuid], mut made: Vec<(Uuid, Task, Made)>) -> Vec<SubmitVerdict> {
    made.sort_by_key(|(id, ..)| *id);
    // A key that stands in the batch twice names one row, and its first text made it.
    let mut told = HashSet::new();
    ids.iter()
        .map(|id| {
            let Ok(place) = made.binary_search_by_key(id, |(known, ..)| *known) else {
                return SubmitVerdict::Taken;
            };
            let (_, task, when) = &made[place];
            SubmitVerdict::Submitted(Submitted {
                task: task.clone(),
                created: told.insert(*id) && *when == Made::Now,
                resolved_from_unknown: false,
            })
        })
        .collect()
}

/// Of the task that has the id nothing is said but that it is none of this tenant's.
fn taken(tenant: &Name, key: &SubmissionKey) -> DbError {
    let trouble = Trouble::new(format!(
        "nothing was submitted: the submission id {} is taken, and not by a task of tenant {tenant}",
        key.id
    ));
    DbError::Taken(trouble.hint(match key.given {
        Some(_) => "use another key; whoever may read every tenant finds the id in task_inputs.submission",
        None => "if it was sent for another tenant before, look there: it may be in the table",
    }))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Now,
    Before,
}
