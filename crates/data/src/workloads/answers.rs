//! Wrong answers for tests.

use hopcost_core::{Answer, Code, Reason};

pub fn compare(question: &str, answer: &Answer, right: &Answer) -> Result<(), Reason> {
    if answer.rows != right.rows {
        let (got, asked) = (answer.rows, right.rows);
        return Err(Code::WrongAnswers
            .because(format!("{question}: {got} rows came back, and {asked} are right")));
    }
    if answer.digest != right.digest {
        return Err(Code::WrongAnswers.because(format!(
            "{question}: the number of rows, {}, is right, but a value in them is not \
             (their digest is {:016x}, that of the right ones {:016x})",
            answer.rows, answer.digest, right.digest
        )));
    }
    Ok(())
}
