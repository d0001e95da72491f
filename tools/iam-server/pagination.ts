/** A position in a list as the caller asked for it. */
export interface PageRequest {
  /** 1-based; 0 means all records. */
  readonly page: number;
  readonly pageSize: number;
}

export interface Pagination extends PageRequest {
  readonly totalCount: number;
  readonly totalPages: number;
  readonly hasNext: boolean;
  readonly hasPrev: boolean;
}

/** What `result` holds in a list or search answer. */
export interface ListResult<T> {
  readonly data: readonly T[];
  readonly dataCount: number;
  readonly pagination: Pagination;
}

export function paginate<T>(records: readonly T[], { page, pageSize }: PageRequest): ListResult<T> {
  const totalCount = records.length;
  const everything = page === 0;
  const totalPages = everything ? Math.min(totalCount, 1) : Math.ceil(totalCount / pageSize);
  const data = everything ? records : records.slice((page - 1) * pageSize, page * pageSize);
  return {
    data,
    dataCount: data.length,
    pagination: {
      page,
      pageSize,
      totalCount,
      totalPages,
      hasNext: !everything && page < totalPages,
      hasPrev: page > 1,
    },
  };
}

/** The whole list as one page, for calls that do not look at paging parameters. */
export function unpaged<T>(records: readonly T[]): ListResult<T> {
  return paginate(records, { page: 1, pageSize: Math.max(records.length, 1) });
}
