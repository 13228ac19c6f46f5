//! The standard input and output of this process, on the fastest path that there is.
//!
//! A pipe or a Unix socket, which is what a host gives to a server that it starts, is read and written by the runtime
//! itself: no other thread has to wake up for a message. Files, terminals and whatever else there is go through threads.

use std::io;

use crate::{
    stdin::Stdin,
    streams::{Reader, Writer},
};

/// Standard input.
pub(crate) fn input() -> io::Result<Reader> {
    #[cfg(unix)]
    if let Some(reader) = direct::input() {
        return Ok(reader);
    }
    Ok(Box::new(Stdin::new()?))
}

/// Standard output.
pub(crate) fn output() -> Writer {
    #[cfg(unix)]
    if let Some(writer) = direct::output() {
        return writer;
    }
    Box::new(tokio::io::stdout())
}

#[cfg(unix)]
mod direct {
    use std::{
        fs::File,
        io,
        os::{
            fd::{AsFd, OwnedFd},
            unix::{fs::FileTypeExt, net::UnixStream},
        },
    };

    use crate::streams::{Reader, Writer};

    pub(super) fn input() -> Option<Reader> {
        let end = End::of(&io::stdin()).ok()?;
        match end {
            End::Socket(stream) => Some(Box::new(tokio::net::UnixStream::from_std(stream).ok()?)),
            End::Pipe => pipe::reader(),
        }
    }

    pub(super) fn output() -> Option<Writer> {
        let end = End::of(&io::stdout()).ok()?;
        match end {
            End::Socket(stream) => Some(Box::new(tokio::net::UnixStream::from_std(stream).ok()?)),
            End::Pipe => pipe::writer(),
        }
    }

    /// The kind of file that the process was started with.
    enum End {
        Pipe,
        Socket(UnixStream),
    }

    impl End {
        fn of(end: &impl AsFd) -> io::Result<Self> {
            let copy: OwnedFd = end.as_fd().try_clone_to_owned()?;
            let file = File::from(copy);
            let kind = file.metadata()?.file_type();
            if kind.is_fifo() {
                return Ok(Self::Pipe);
            }
            if !kind.is_socket() {
                return Err(io::ErrorKind::Unsupported.into());
            }
            let stream = UnixStream::from(OwnedFd::from(file));
            // It fails for a socket of another family.
            stream.local_addr()?;
            stream.set_nonblocking(true)?;
            Ok(Self::Socket(stream))
        }
    }

    /// A pipe is opened once more, because other processes that share it do not expect it to be non-blocking.
    #[cfg(target_os = "linux")]
    mod pipe {
        use tokio::net::unix::pipe::OpenOptions;

        use crate::streams::{Reader, Writer};

        pub(super) fn reader() -> Option<Reader> {
            Some(Box::new(OpenOptions::new().open_receiver("/proc/self/fd/0").ok()?))
        }

        pub(super) fn writer() -> Option<Writer> {
            Some(Box::new(OpenOptions::new().open_sender("/proc/self/fd/1").ok()?))
        }
    }

    #[cfg(not(target_os = "linux"))]
    mod pipe {
        use crate::streams::{Reader, Writer};

        pub(super) fn reader() -> Option<Reader> {
            None
        }

        pub(super) fn writer() -> Option<Writer> {
            None
        }
    }
}
