//! The frames between the daemon and one worker: what each end may say, and how it is written. No I/O here.
//!
//! A frame is a little-endian `u32` length and that many bytes: one kind byte, then the kind's fields. The last
//! field of a frame is whatever is left, so nothing has to be counted twice. Each end decodes only what the other
//! may say. The daemon takes a worker for hostile: every length is bounded before a byte is allocated for it, every
//! number is checked by whoever knows what it names, and a frame that is not understood ends the worker.

use crate::limits::Limit;

/// Bytes of the length that opens a frame.
pub const HEADER_BYTES: usize = 4;

/// What a frame may hold besides one bounded value or text.
pub const FRAME_OVERHEAD: usize = 64;

/// The daemon's side of the conversation.
#[derive(Debug, PartialEq, Eq)]
pub enum ToWorker {
    /// What the worker may spend and how it confines itself; the catalog's map comes with it as a descriptor.
    Prepare(Orders),
    /// The program, once.
    Program(String),
    /// The answer to one call.
    Answer { call: u32, answer: Answer },
    /// The answer to one [`FromWorker::Ask`]: for each capability in turn, whether it is there.
    Shown(Vec<bool>),
}

/// How one native call went, as the program may know it.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// JSON text of the result.
    Value(Vec<u8>),
    /// A failure that the program asked to have as a value.
    Failed(CallFailure),
}

/// A failed call as a program sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailure {
    pub code: FailureCode,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    pub message: String,
}

/// The closed set of failures that a program can handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCode {
    InvalidArguments,
    PermissionDenied,
    CapabilityFailed,
}

/// The worker's side of the conversation.
#[derive(Debug, PartialEq, Eq)]
pub enum FromWorker {
    /// Prepared, confined, and waiting for a program.
    Ready(Confinement),
    /// Whether capabilities are there for the run's subject. Only where a discover decision is configured, and
    /// before the first call.
    Ask(Vec<Numbers>),
    /// One native call; `arguments` is the JSON text of the bound arguments.
    Call { call: u32, capability: u32, caught: bool, arguments: Vec<u8> },
    /// JSON text of what `main` returned.
    Returned(Vec<u8>),
    /// The program failed.
    Failed(Claim),
}

/// Capabilities whose numbers follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    pub first: u32,
    pub count: u32,
}

/// The failures that a worker may claim. Everything else is the daemon's to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    InvalidProgram(String),
    InvalidArguments(String),
    Limit(WorkerLimit),
}

/// The limits that a worker alone enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerLimit {
    ExecutionSteps,
    NativeCalls,
    ValueDepth,
    ValueBytes,
    ResultBytes,
    WorkerMemory,
}

/// What a worker is told before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orders {
    pub budgets: Budgets,
    /// Whether to confine itself at all.
    pub confine: bool,
    /// Whether to ask what is there for a run's subject.
    pub discovers: bool,
    /// The daemon's process number; a worker whose parent is another one is an orphan, and ends.
    pub parent: u32,
}

/// Which of the operating system's confinements took hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confinement {
    pub seccomp: bool,
    pub landlock: bool,
    /// No new privileges, not dumpable, resource limits.
    pub limits: bool,
}

/// What one run may spend inside its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    pub max_execution_steps: u64,
    pub max_native_calls: u64,
    pub max_parallel_calls: u32,
    pub max_value_depth: u32,
    pub max_value_bytes: u64,
    pub max_result_bytes: u64,
    pub max_worker_memory: u64,
    /// Seconds of processor time after which the kernel ends the worker.
    pub max_cpu_secs: u64,
}

/// The bytes are no frame of the kind that may come now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    #[error("a frame of {0} bytes is longer than any that may come")]
    TooLong(usize),
    #[error("a frame of unknown kind {0}")]
    UnknownKind(u8),
    #[error("a frame that ends too early or too late")]
    Malformed,
}

/// The body's length, refused before anything is allocated for it.
pub fn body_length(header: [u8; HEADER_BYTES], most: usize) -> Result<usize, ProtocolError> {
    let length = u32::from_le_bytes(header) as usize;
    if length > most { Err(ProtocolError::TooLong(length)) } else { Ok(length) }
}

impl ToWorker {
    /// The whole frame, header included.
    pub fn encode(&self) -> Vec<u8> {
        let mut frame = Frame::new();
        match self {
            Self::Prepare(Orders { budgets, confine, discovers, parent }) => {
                frame.byte(1);
                frame.byte(u8::from(*confine));
                frame.byte(u8::from(*discovers));
                frame.u32(*parent);
                frame.u64(budgets.max_execution_steps);
                frame.u64(budgets.max_native_calls);
                frame.u32(budgets.max_parallel_calls);
                frame.u32(budgets.max_value_depth);
                frame.u64(budgets.max_value_bytes);
                frame.u64(budgets.max_result_bytes);
                frame.u64(budgets.max_worker_memory);
                frame.u64(budgets.max_cpu_secs);
            }
            Self::Program(source) => {
                frame.byte(2);
                frame.bytes(source.as_bytes());
            }
            Self::Answer { call, answer: Answer::Value(json) } => {
                frame.byte(3);
                frame.u32(*call);
                frame.bytes(json);
            }
            Self::Answer { call, answer: Answer::Failed(failure) } => {
                frame.byte(4);
                frame.u32(*call);
                frame.byte(match failure.code {
                    FailureCode::InvalidArguments => 1,
                    FailureCode::PermissionDenied => 2,
                    FailureCode::CapabilityFailed => 3,
                });
                frame.byte(u8::from(failure.retryable));
                frame.bytes(failure.message.as_bytes());
            }
            Self::Shown(shown) => {
                frame.byte(5);
                shown.iter().for_each(|shown| frame.byte(u8::from(*shown)));
            }
        }
        frame.finish()
    }

    /// Reads one frame's body.
    pub fn decode(body: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = Fields(body);
        match fields.byte()? {
            1 => {
                let (confine, discovers, parent) = (fields.flag()?, fields.flag()?, fields.u32()?);
                let budgets = Budgets {
                    max_execution_steps: fields.u64()?,
                    max_native_calls: fields.u64()?,
                    max_parallel_calls: fields.u32()?,
                    max_value_depth: fields.u32()?,
                    max_value_bytes: fields.u64()?,
                    max_result_bytes: fields.u64()?,
                    max_worker_memory: fields.u64()?,
                    max_cpu_secs: fields.u64()?,
                };
                fields.end()?;
                Ok(Self::Prepare(Orders { budgets, confine, discovers, parent }))
            }
            2 => Ok(Self::Program(fields.text()?)),
            3 => Ok(Self::Answer { call: fields.u32()?, answer: Answer::Value(fields.rest()) }),
            4 => Ok(Self::Answer {
                call: fields.u32()?,
                answer: Answer::Failed(CallFailure {
                    code: match fields.byte()? {
                        1 => FailureCode::InvalidArguments,
                        2 => FailureCode::PermissionDenied,
                        3 => FailureCode::CapabilityFailed,
                        _ => return Err(ProtocolError::Malformed),
                    },
                    retryable: fields.flag()?,
                    message: fields.text()?,
                }),
            }),
            5 => fields.each(Fields::flag).map(Self::Shown),
            kind => Err(ProtocolError::UnknownKind(kind)),
        }
    }
}

impl FromWorker {
    /// The whole frame, header included.
    pub fn encode(&self) -> Vec<u8> {
        let mut frame = Frame::new();
        match self {
            Self::Ready(confinement) => {
                frame.byte(1);
                frame.byte(u8::from(confinement.seccomp));
                frame.byte(u8::from(confinement.landlock));
                frame.byte(u8::from(confinement.limits));
            }
            Self::Call { call, capability, caught, arguments } => {
                frame.byte(2);
                frame.u32(*call);
                frame.u32(*capability);
                frame.byte(u8::from(*caught));
                frame.bytes(arguments);
            }
            Self::Ask(numbers) => {
                frame.byte(7);
                for Numbers { first, count } in numbers {
                    frame.u32(*first);
                    frame.u32(*count);
                }
            }
            Self::Returned(json) => {
                frame.byte(3);
                frame.bytes(json);
            }
            Self::Failed(Claim::InvalidProgram(text)) => {
                frame.byte(4);
                frame.bytes(text.as_bytes());
            }
            Self::Failed(Claim::InvalidArguments(text)) => {
                frame.byte(5);
                frame.bytes(text.as_bytes());
            }
            Self::Failed(Claim::Limit(limit)) => {
                frame.byte(6);
                frame.byte(limit.code());
            }
        }
        frame.finish()
    }

    /// Reads one frame's body.
    pub fn decode(body: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = Fields(body);
        match fields.byte()? {
            1 => {
                let confinement =
                    Confinement { seccomp: fields.flag()?, landlock: fields.flag()?, limits: fields.flag()? };
                fields.end()?;
                Ok(Self::Ready(confinement))
            }
            2 => Ok(Self::Call {
                call: fields.u32()?,
                capability: fields.u32()?,
                caught: fields.flag()?,
                arguments: fields.rest(),
            }),
            3 => Ok(Self::Returned(fields.rest())),
            4 => Ok(Self::Failed(Claim::InvalidProgram(fields.text()?))),
            5 => Ok(Self::Failed(Claim::InvalidArguments(fields.text()?))),
            6 => {
                let limit = WorkerLimit::from_code(fields.byte()?).ok_or(ProtocolError::Malformed)?;
                fields.end()?;
                Ok(Self::Failed(Claim::Limit(limit)))
            }
            7 => {
                let numbers = |fields: &mut Fields<'_>| Ok(Numbers { first: fields.u32()?, count: fields.u32()? });
                fields.each(numbers).map(Self::Ask)
            }
            kind => Err(ProtocolError::UnknownKind(kind)),
        }
    }
}

impl Numbers {
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<> {
        self.first..self.first.saturating_add(self.count)
    }
}

impl WorkerLimit {
    const ALL: [Self; 6] = [
        Self::ExecutionSteps,
        Self::NativeCalls,
        Self::ValueDepth,
        Self::ValueBytes,
        Self::ResultBytes,
        Self::WorkerMemory,
    ];

    fn code(self) -> u8 {
        match self {
            Self::ExecutionSteps => 1,
            Self::NativeCalls => 2,
            Self::ValueDepth => 3,
            Self::ValueBytes => 4,
            Self::ResultBytes => 5,
            Self::WorkerMemory => 6,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.code() == code)
    }
}

impl From<WorkerLimit> for Limit {
    fn from(limit: WorkerLimit) -> Self {
        match limit {
            WorkerLimit::ExecutionSteps => Self::MaxExecutionSteps,
            WorkerLimit::NativeCalls => Self::MaxNativeCalls,
            WorkerLimit::ValueDepth => Self::MaxValueDepth,
            WorkerLimit::ValueBytes => Self::MaxValueBytes,
            WorkerLimit::ResultBytes => Self::MaxResultBytes,
            WorkerLimit::WorkerMemory => Self::MaxWorkerMemory,
        }
    }
}

struct Frame(Vec<u8>);

impl Frame {
    fn new() -> Self {
        Self(vec![0; HEADER_BYTES])
    }

    fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, value: &[u8]) {
        self.0.extend_from_slice(value);
    }

    fn finish(mut self) -> Vec<u8> {
        // Bodies are bounded far below 4 GiB by whoever makes them.
        let length = u32::try_from(self.0.len() - HEADER_BYTES).unwrap_or(u32::MAX);
        if let Some(header) = self.0.first_chunk_mut::<HEADER_BYTES>() {
            *header = length.to_le_bytes();
        }
        self.0
    }
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(ProtocolError::Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> Result<u8, ProtocolError> {
        self.take::<1>().map(u8::from_le_bytes)
    }

    fn flag(&mut self) -> Result<bool, ProtocolError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(ProtocolError::Malformed),
        }
    }

    fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, ProtocolError> {
        self.take().map(u64::from_le_bytes)
    }

    /// The same field again and again, to the end.
    fn each<T>(mut self, read: impl Fn(&mut Self) -> Result<T, ProtocolError>) -> Result<Vec<T>, ProtocolError> {
        let mut all = Vec::new();
        while !self.0.is_empty() {
            all.push(read(&mut self)?);
        }
        Ok(all)
    }

    fn rest(self) -> Vec<u8> {
        self.0.to_vec()
    }

    fn text(self) -> Result<String, ProtocolError> {
        String::from_utf8(self.rest()).map_err(|_| ProtocolError::Malformed)
    }

    fn end(self) -> Result<(), ProtocolError> {
        if self.0.is_empty() { Ok(()) } else { Err(ProtocolError::Malformed) }
    }
}
