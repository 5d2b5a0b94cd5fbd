//! What a peer can do wrong in framing: one table, from which the enum, the names, the statuses and the words come.

use crate::code::Code;

/// Makes [`Fault`] and its table from one list.
macro_rules! faults {
    ($($variant:ident, $name:literal, $status:literal, $words:literal;)*) => {
        /// The peer broke the protocol: after this, nothing that comes on the connection can be trusted (spec, Framing).
        #[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
        #[non_exhaustive]
        pub enum Fault {
            $(#[doc = concat!("`", $name, "`: ", $words, ". Status ", stringify!($status), ".")] $variant,)*
        }

        impl Fault {
            /// Every fault, in the order of the spec's table.
            pub const ALL: &[Fault] = &[$(Fault::$variant,)*];

            /// Its name in the vectors.
            pub const fn name(self) -> &'static str {
                match self { $(Fault::$variant => $name,)* }
            }

            /// The status a server answers with before it closes. It means nothing for a fault of a server.
            pub const fn status(self) -> u16 {
                match self { $(Fault::$variant => $status,)* }
            }

            /// What is wrong, for a person.
            pub const fn words(self) -> &'static str {
                match self { $(Fault::$variant => $words,)* }
            }
        }
    };
}

faults! {
    NotHttp, "not_http", 400, "the first byte begins no HTTP message";
    BareLf, "bare_lf", 400, "a line ends in LF without CR";
    BareCr, "bare_cr", 400, "a CR is not followed by LF";
    HeadTooLarge, "head_too_large", 431, "the head is over 64 KiB";
    CutHead, "cut_head", 400, "the head is not one whole head";
    BadRequestLine, "bad_request_line", 400, "the request line is not a method, a target and a version";
    BadTarget, "bad_target", 400, "the target is neither a path nor an http URL";
    BadStatusLine, "bad_status_line", 400, "the status line is not a version, a status and a reason";
    BadVersion, "bad_version", 505, "the version is neither HTTP/1.0 nor HTTP/1.1";
    TooManyFields, "too_many_fields", 431, "the head has over 128 fields";
    BadFieldName, "bad_field_name", 400, "a field's name is not a token right before a colon";
    BadFieldValue, "bad_field_value", 400, "a field's value has a control character";
    ObsFold, "obs_fold", 400, "a field line begins with a blank";
    NoHost, "no_host", 400, "HTTP/1.1 without Host";
    TwoHosts, "two_hosts", 400, "Host stands more than once";
    BadHost, "bad_host", 400, "Host is not a host with an optional port";
    AuthorityMismatch, "authority_mismatch", 400, "the target's authority is not Host";
    BadContentLength, "bad_content_length", 400, "Content-Length is not one decimal number below 2^63";
    BothLengths, "both_lengths", 400, "Content-Length and Transfer-Encoding together";
    BadTransferEncoding, "bad_transfer_encoding", 400, "Transfer-Encoding is not one chunked, at the end, in HTTP/1.1";
    UnknownCoding, "unknown_coding", 501, "a transfer coding other than chunked";
    BadUpgrade, "bad_upgrade", 400, "the WebSocket handshake is malformed";
    BadChunkSize, "bad_chunk_size", 400, "a chunk's size is not 1 to 16 hex digits, or the body passes 2^63 - 1";
    BadChunkExtension, "bad_chunk_extension", 400, "a chunk extension is malformed";
    BadChunkEnd, "bad_chunk_end", 400, "a chunk's data is not followed by CRLF";
    ChunkOverhead, "chunk_overhead", 400, "the chunk extensions outweigh the body";
    TrailersTooLarge, "trailers_too_large", 431, "the trailers are over 8 KiB or 64 fields";
    CutBody, "cut_body", 400, "the body ended before its stated end";
}

impl Fault {
    /// The code a server answers with: [`Code::Limit`] where the status is 431, else [`Code::Invalid`].
    pub const fn code(self) -> Code {
        match self.status() {
            431 => Code::Limit,
            _ => Code::Invalid,
        }
    }
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.words())
    }
}

impl core::error::Error for Fault {}
