//! The error codes of the wire: one table, from which the enum, the names, the aliases, the statuses and the docs come.

/// Makes [`Code`] and its table from one list.
macro_rules! codes {
    ($($variant:ident, $name:literal, [$($alias:literal),*], $status:literal, $words:literal;)*) => {
        /// What went wrong, as it crosses the wire. A client decides by this and never by the HTTP status (spec, Errors).
        #[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!("`", $name, "`: ", $words, ". Status ", stringify!($status), " where no rule says otherwise.")] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the spec's table.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            /// The text that crosses the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// Other texts that a client takes for this code.
            pub const fn aliases(self) -> &'static [&'static str] {
                match self { $(Code::$variant => &[$($alias),*],)* }
            }

            /// The HTTP status it goes with where no rule names another.
            pub const fn status(self) -> u16 {
                match self { $(Code::$variant => $status,)* }
            }

            /// The sentinel's own words: what a mapped error's message is made of.
            pub const fn words(self) -> &'static str {
                match self { $(Code::$variant => $words,)* }
            }

            /// The code of a received text; any text that is not known is [`Code::Other`].
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($name $(| $alias)* => Code::$variant,)*
                    _ => Code::Other,
                }
            }
        }
    };
}

codes! {
    Unauthenticated, "unauthenticated", ["auth"], 401, "unauthenticated";
    Forbidden, "forbidden", ["scope"], 403, "forbidden";
    Outside, "outside", [], 403, "name is outside the workspace";
    NotExist, "not_exist", ["notexist", "not_found"], 404, "file does not exist";
    Exist, "exist", ["exists"], 409, "file already exists";
    Permission, "permission", [], 403, "permission denied";
    Invalid, "invalid", [], 400, "invalid argument";
    Unsupported, "unsupported", [], 501, "unsupported operation";
    ProcessDone, "process_done", ["done"], 409, "os: process already finished";
    Closed, "closed", [], 410, "file already closed";
    NoServer, "no_server", [], 404, "no such server";
    NoSession, "no_session", [], 404, "no such session";
    Limit, "limit", [], 413, "over a limit";
    Other, "other", [], 500, "error";
}

impl core::fmt::Display for Code {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
