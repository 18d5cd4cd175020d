//! Parser of the bodies of `timeseries(...)` and `declare timeseries`.

use super::error::SyntaxError;
use super::lexer::Token;
use super::parser::Parser;
use super::tree::{Call, Expression, Path, Period, TimeGroup, TimeRange, TimeSeriesQuery};

impl Parser<'_> {
    /// From `from` to the closing brace or parenthesis, which stays.
    pub(super) fn time_series_query(&mut self) -> Result<TimeSeriesQuery, SyntaxError> {
        self.need_word("from", "Expected FROM in a time series query")?;
        let from = self.path_or_value("Expected the name of a time series")?;
        let range = self.time_range()?;
        let load_tag = self.load_tag()?;
        let condition = self.condition_clause("where")?;
        let group_by = self.time_group()?;
        let mut select = Vec::new();
        if self.eat_word("select")? {
            loop {
                select.push(self.path_or_call("Expected an aggregate after SELECT")?);
                if !self.eat_symbol(",")? {
                    break;
                }
            }
        }
        let scale = match self.eat_word("scale")? {
            true => Some(self.need_value("Expected a value after SCALE")?),
            false => None,
        };
        let offset = match self.eat_word("offset")? {
            true => Some(self.need_value("Expected a value after OFFSET")?),
            false => None,
        };
        Ok(TimeSeriesQuery {
            from,
            range,
            load_tag,
            condition,
            group_by,
            select,
            scale,
            offset,
        })
    }

    fn time_range(&mut self) -> Result<Option<TimeRange>, SyntaxError> {
        if self.eat_word("between")? {
            let low = self.path_or_value("Expected a time after BETWEEN")?;
            self.need_word("and", "Expected AND between two times")?;
            let high = self.path_or_value("Expected a second time of BETWEEN")?;
            return Ok(Some(TimeRange::Between(low, high)));
        }
        if self.eat_word("first")? {
            return Ok(Some(TimeRange::First(self.period()?)));
        }
        if self.eat_word("last")? {
            return Ok(Some(TimeRange::Last(self.period()?)));
        }
        Ok(None)
    }

    fn load_tag(&mut self) -> Result<Option<String>, SyntaxError> {
        if !self.eat_word("load")? {
            return Ok(None);
        }
        self.need_word("tag", "Expected TAG after LOAD")?;
        self.eat_word("as")?;
        let Token::Word(alias) = self.token() else {
            return Err(self.expected("Expected an alias for the tag document"));
        };
        let alias = alias.to_owned();
        self.advance()?;
        Ok(Some(alias))
    }

    fn time_group(&mut self) -> Result<Option<TimeGroup>, SyntaxError> {
        if !self.eat_word("group")? {
            return Ok(None);
        }
        self.need_word("by", "Expected BY after GROUP")?;
        let period = self.period()?;
        let key: Option<Path> = match self.eat_symbol(",")? {
            true => Some(self.path("Expected TAG or a field after a period")?),
            false => None,
        };
        let with: Option<Call> = match self.eat_word("with")? {
            true => match self.path_or_call("Expected interpolation(...) after WITH")? {
                Expression::Call(call) => Some(call),
                _ => return Err(self.expected("Expected ( after the method of WITH")),
            },
            false => None,
        };
        Ok(Some(TimeGroup { period, key, with }))
    }

    /// `'1 hour'`, `1h`, `3 days` or `$period`.
    fn period(&mut self) -> Result<Period, SyntaxError> {
        const EXPECTED: &str = "Expected a period such as 1h or '7 days'";
        let period = match self.token() {
            Token::Text { raw, quote } => Period::Text(Self::unescaped(raw, quote)),
            Token::Parameter(name) => Period::Parameter(name.to_owned()),
            Token::Number {
                raw,
                is_integer: true,
            } => {
                let Ok(count) = raw.replace('_', "").parse() else {
                    return Err(self.expected(EXPECTED));
                };
                self.advance()?;
                match self.token() {
                    Token::Word(unit) => Period::Count(count, unit.to_owned()),
                    _ => return Err(self.expected("Expected a unit such as hours or days")),
                }
            }
            _ => return Err(self.expected(EXPECTED)),
        };
        self.advance()?;
        Ok(period)
    }
}
