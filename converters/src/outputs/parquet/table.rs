//! One table: a Parquet file whose rows are added one by one, and written in groups.

use parquet::{
    basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel},
    data_type::{ByteArray, ByteArrayType, Int64Type},
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion},
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
    schema::types::{ColumnPath, Type, TypePtr},
};
use std::{fs::File, io, path::Path, sync::Arc};

/// Rows are written together, and are in memory until then: some 30 MB of waits. Readers
/// share out the groups to their workers.
const ROWS_A_GROUP: usize = 1 << 18;
/// Fewer if they have more texts in lists than this.
const TEXTS_A_GROUP: usize = 1 << 20;
/// As for other outputs: small for little time.
const LEVEL: i32 = 3;

/// What a column holds. None of them is ever null but where the type says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnType {
    /// Whole numbers; durations and times in ns, as the name says.
    Number,
    /// The same, or null for what is not known.
    NumberOrNull,
    /// A text.
    Text,
    /// The same, or null for what is not known.
    TextOrNull,
    /// A list of texts, of which any may be equal.
    Texts,
}

/// A column: its name and what it holds.
pub(super) type ColumnSpec = (&'static str, ColumnType);

/// A value of a row.
#[derive(Clone, Debug)]
pub(super) enum CellValue {
    Number(u64),
    Text(ByteArray),
    Texts(Vec<ByteArray>),
    Null,
}

/// The values of a column in the rows that are not written yet.
#[derive(Default)]
struct ColumnValues {
    numbers: Vec<i64>,
    texts: Vec<ByteArray>,
    /// Of what may lack or be a list: whether it is there; and whether it goes on a list.
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

/// A table that is being written.
pub(super) struct TableWriter {
    writer: SerializedFileWriter<File>,
    columns: &'static [ColumnSpec],
    values: Vec<ColumnValues>,
    rows: usize,
    /// How many texts the lists of these rows have.
    texts: usize,
}

impl TableWriter {
    /// Begins `NAME.parquet` in a folder; `facts` are about all of the file.
    pub(super) fn create(
        folder: &Path,
        name: &str,
        columns: &'static [ColumnSpec],
        facts: &[(String, String)],
    ) -> io::Result<TableWriter> {
        let facts = facts.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        let level = ZstdLevel::try_new(LEVEL).map_err(other)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_created_by(concat!("tyrion ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(facts.collect()));
        let properties = columns.iter().fold(properties, encoded);
        let file = File::create_new(folder.join(format!("{name}.parquet")))?;
        let writer =
            SerializedFileWriter::new(file, schema(name, columns)?, Arc::new(properties.build()));
        let writer = writer.map_err(other)?;
        let values = columns.iter().map(|_| ColumnValues::default()).collect();
        Ok(TableWriter { writer, columns, values, rows: 0, texts: 0 })
    }

    /// Adds a row: a value for each column, in their order.
    pub(super) fn add<const N: usize>(&mut self, row: [CellValue; N]) -> io::Result<()> {
        debug_assert_eq!(N, self.columns.len());
        for (values, value) in self.values.iter_mut().zip(row) {
            if let CellValue::Texts(texts) = &value {
                self.texts += texts.len();
            }
            values.add(value);
        }
        self.rows += 1;
        let is_full = self.rows == ROWS_A_GROUP || self.texts >= TEXTS_A_GROUP;
        if is_full { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(other)?;
        for ((_, sort), values) in self.columns.iter().zip(&mut self.values) {
            let Some(mut column) = group.next_column().map_err(other)? else { break };
            values.write(*sort, &mut column).map_err(other)?;
            column.close().map_err(other)?;
            values.clear();
        }
        group.close().map_err(other)?;
        (self.rows, self.texts) = (0, 0);
        Ok(())
    }

    /// Writes the rest.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.rows != 0 {
            self.write_group()?;
        }
        self.writer.close().map(|_| ()).map_err(other)
    }
}

impl ColumnValues {
    fn add(&mut self, value: CellValue) {
        match value {
            CellValue::Number(number) => {
                self.definitions.push(1);
                self.numbers.push(i64::try_from(number).unwrap_or(i64::MAX));
            }
            CellValue::Text(text) => {
                self.definitions.push(1);
                self.texts.push(text);
            }
            CellValue::Texts(texts) => {
                // An empty list has an entry that is not there.
                let len = texts.len().max(1);
                self.definitions.extend(vec![i16::from(!texts.is_empty()); len]);
                self.repetitions.extend((0..len).map(|at| i16::from(at > 0)));
                self.texts.extend(texts);
            }
            CellValue::Null => self.definitions.push(0),
        }
    }

    fn write(
        &self,
        sort: ColumnType,
        column: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let is_always = matches!(sort, ColumnType::Number | ColumnType::Text);
        let definitions = (!is_always).then_some(&self.definitions[..]);
        let repetitions = (sort == ColumnType::Texts).then_some(&self.repetitions[..]);
        match sort {
            ColumnType::Number | ColumnType::NumberOrNull => {
                let column = column.typed::<Int64Type>();
                column.write_batch(&self.numbers, definitions, repetitions)?;
            }
            ColumnType::Text | ColumnType::TextOrNull | ColumnType::Texts => {
                let column = column.typed::<ByteArrayType>();
                column.write_batch(&self.texts, definitions, repetitions)?;
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.numbers.clear();
        self.texts.clear();
        self.definitions.clear();
        self.repetitions.clear();
    }
}

/// How a column is written. By default that is a dictionary of its values, which is small for
/// ids and names. Times and durations are hardly ever equal: of these the dictionary is
/// larger than they are, and is given up when it has become too large. Differences are small.
fn encoded(properties: WriterPropertiesBuilder, column: &ColumnSpec) -> WriterPropertiesBuilder {
    let (name, _) = column;
    if !name.ends_with("_ns") {
        return properties;
    }
    let path = ColumnPath::from(*name);
    properties
        .set_column_dictionary_enabled(path.clone(), false)
        .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
}

fn schema(name: &str, columns: &[ColumnSpec]) -> io::Result<TypePtr> {
    let fields: Result<Vec<TypePtr>, ParquetError> =
        columns.iter().map(|column| field(*column)).collect();
    let table = Type::group_type_builder(name).with_fields(fields.map_err(other)?).build();
    table.map(Arc::new).map_err(other)
}

fn field((name, sort): ColumnSpec) -> Result<TypePtr, ParquetError> {
    let primitive = |name: &str, physical, repetition| {
        let text = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(text)
            .build()
            .map(Arc::new)
    };
    match sort {
        ColumnType::Number => primitive(name, Physical::INT64, Repetition::REQUIRED),
        ColumnType::NumberOrNull => primitive(name, Physical::INT64, Repetition::OPTIONAL),
        ColumnType::Text => primitive(name, Physical::BYTE_ARRAY, Repetition::REQUIRED),
        ColumnType::TextOrNull => primitive(name, Physical::BYTE_ARRAY, Repetition::OPTIONAL),
        // The three levels that the format's document on logical types asks of a list.
        ColumnType::Texts => {
            let element = primitive("element", Physical::BYTE_ARRAY, Repetition::REQUIRED)?;
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![element])
                .build()?;
            let outer = Type::group_type_builder(name)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::List))
                .with_fields(vec![Arc::new(list)])
                .build()?;
            Ok(Arc::new(outer))
        }
    }
}

/// Errors of the library; those of the disk stay what they are.
fn other(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
    }
}
