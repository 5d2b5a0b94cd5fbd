//! The few fixed pieces that a writer of HTTP/1.1 puts between its own bytes.

/// The usual reason of a status; empty where there is none, which is a legal reason too.
pub const fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        507 => "Insufficient Storage",
        _ => "",
    }
}

/// The bytes of [`chunk_head`].
pub const CHUNK_HEAD: usize = 10;

/// The line before a chunk of `n` bytes, 1 to `u32::MAX`. It is of one length whatever `n`, so room for it can be left before the data
/// is known. After the data comes CRLF.
pub const fn chunk_head(n: usize) -> [u8; CHUNK_HEAD] {
    debug_assert!(n > 0, "an empty chunk ends the body");
    debug_assert!(n as u64 <= u32::MAX as u64, "a chunk over 4 GiB");
    let mut head = *b"00000000\r\n";
    let mut i = 0;
    while i < 8 {
        head[i] = b"0123456789abcdef"[(n >> (4 * (7 - i))) & 15];
        i += 1;
    }
    head
}

/// What ends a chunked body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The interim reply that lets a sender go on with its body.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
